// SPDX-License-Identifier: Apache-2.0
/// @file
/// A user's file that multiplies with Eigen itself, compiled for this processor, beside a library that is not.
#include <cmath>
#include <cstddef>
#include <vector>

#include <Eigen/Dense>
#include <fmt/core.h>

#include <trainhook/engine.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/trainhook.hpp>

namespace th = trainhook;

namespace {

constexpr std::int64_t kSize = 37;  // no multiple of any vector

/// The largest difference from the product of `a` and `b` as plain loops make it.
double distance(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b, const Eigen::MatrixXd& product) {
  double largest = 0;
  for (Eigen::Index row = 0; row < a.rows(); ++row) {
    for (Eigen::Index column = 0; column < b.cols(); ++column) {
      double sum = 0;
      for (Eigen::Index i = 0; i < a.cols(); ++i) sum += a(row, i) * b(i, column);
      largest = std::fmax(largest, std::fabs(sum - product(row, column)));
    }
  }
  return largest;
}

th::Tensor tensor_of(const Eigen::MatrixXd& matrix) {
  const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows = matrix;
  return th::Tensor::copy_of<double>(std::span(rows.data(), static_cast<std::size_t>(rows.size())),
                                     {matrix.rows(), matrix.cols()});
}

}  // namespace

int beside_eigen() {
  const Eigen::MatrixXd a = Eigen::MatrixXd::Random(kSize, kSize);
  const Eigen::MatrixXd b = Eigen::MatrixXd::Random(kSize, kSize);
  const double of_user = distance(a, b, a * b);

  th::Graph graph;
  const th::Output x = th::placeholder(graph, th::DType::Double, {kSize, kSize}, "x");
  const th::Output y = th::placeholder(graph, th::DType::Double, {kSize, kSize}, "y");
  th::EigenSession session(graph);
  const th::Tensor product = session.run(th::matmul(x, y), {{x, tensor_of(a)}, {y, tensor_of(b)}});
  using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const double of_library = distance(a, b, Eigen::Map<const Rows>(product.data<double>().data(), kSize, kSize));

  fmt::print("the user's product is off by {}, the library's by {}\n", of_user, of_library);
  return of_user < 1e-12 && of_library < 1e-12 ? 0 : 1;
}
