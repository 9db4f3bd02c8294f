// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix products of several shapes: the MatMul kernel beside Eigen's plain product and, for orientation, OpenBLAS.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <span>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include <Eigen/Core>

#ifdef TRAINHOOK_BENCH_OPENBLAS
#include <cblas.h>
#endif

#include <trainhook/engine/kernel.hpp>
#include <trainhook/engine/kernels.hpp>
#include <trainhook/graph/graph.hpp>

#include "record.hpp"

namespace {

namespace th = trainhook;

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstMap = Eigen::Map<const Matrix>;

/// `rows x inner` times `inner x columns`; a transposed factor is stored the other way round. `goal` is the most that
/// the kernel's time may be, measured in Eigen's.
struct Case {
  const char* name;
  std::int64_t rows;
  std::int64_t inner;
  std::int64_t columns;
  bool transpose_a = false;
  bool transpose_b = false;
  double goal = 1.1;
};

/// The most for a kernel of our own in place of Eigen's product.
constexpr double kOwn = 1 / 1.15;
#ifdef __AVX512F__
constexpr double kOwnWithWideVectors = kOwn;
#else
constexpr double kOwnWithWideVectors = 1.1;  // Eigen's product
#endif

constexpr Case kCases[] = {
    {.name = "product_64", .rows = 64, .inner = 64, .columns = 64},
    {.name = "product_64_ta", .rows = 64, .inner = 64, .columns = 64, .transpose_a = true},
    {.name = "product_64_tb", .rows = 64, .inner = 64, .columns = 64, .transpose_b = true},
    {.name = "product_256", .rows = 256, .inner = 256, .columns = 256},
    {.name = "product_256_ta", .rows = 256, .inner = 256, .columns = 256, .transpose_a = true},
    {.name = "product_256_tb", .rows = 256, .inner = 256, .columns = 256, .transpose_b = true},
    {.name = "product_1024", .rows = 1024, .inner = 1024, .columns = 1024},
    {.name = "product_1024_ta", .rows = 1024, .inner = 1024, .columns = 1024, .transpose_a = true},
    {.name = "product_1024_tb", .rows = 1024, .inner = 1024, .columns = 1024, .transpose_b = true},
    {.name = "product_1x784x128", .rows = 1, .inner = 784, .columns = 128},
    {.name = "product_1x128x784_tb", .rows = 1, .inner = 128, .columns = 784, .transpose_b = true},
    {.name = "product_784x128x1", .rows = 784, .inner = 128, .columns = 1},
    {.name = "product_128x784x1_ta", .rows = 128, .inner = 784, .columns = 1, .transpose_a = true},
    {.name = "product_784x1x128_ta", .rows = 784, .inner = 1, .columns = 128, .transpose_a = true, .goal = kOwn},
    {.name = "product_2x784x128", .rows = 2, .inner = 784, .columns = 128, .goal = kOwn},
    {.name = "product_8x784x128", .rows = 8, .inner = 784, .columns = 128, .goal = kOwn},
    {.name = "product_8x256x256", .rows = 8, .inner = 256, .columns = 256, .goal = kOwn},
    {.name = "product_32x784x128", .rows = 32, .inner = 784, .columns = 128, .goal = kOwnWithWideVectors},
    {.name = "product_32x784x10", .rows = 32, .inner = 784, .columns = 10, .goal = kOwnWithWideVectors},
    {.name = "product_128x784x128", .rows = 128, .inner = 784, .columns = 128, .goal = kOwn},
    {.name = "product_784x32x128", .rows = 784, .inner = 32, .columns = 128},
    {.name = "product_784x32x128_ta",
     .rows = 784,
     .inner = 32,
     .columns = 128,
     .transpose_a = true,
     .goal = kOwnWithWideVectors},
    {.name = "product_784x128x128_ta", .rows = 784, .inner = 128, .columns = 128, .transpose_a = true},
    {.name = "product_32x128x784_tb", .rows = 32, .inner = 128, .columns = 784, .transpose_b = true},
    {.name = "product_128x128x784_tb", .rows = 128, .inner = 128, .columns = 784, .transpose_b = true},
    {.name = "product_32x1024x1024", .rows = 32, .inner = 1024, .columns = 1024},
    {.name = "product_64x2048x64", .rows = 64, .inner = 2048, .columns = 64},
};

th::Tensor random_matrix(std::int64_t rows, std::int64_t columns) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> element(-1, 1);
  th::Tensor matrix(th::DType::Float, th::Shape{rows, columns});
  for (float& value : matrix.overwrite_data<float>()) value = element(random);
  return matrix;
}

/// One shape with its factors, and each way to multiply them.
class Product {
 public:
  explicit Product(const Case& shape)
      : shape_(shape),
        a_(shape.transpose_a ? random_matrix(shape.inner, shape.rows) : random_matrix(shape.rows, shape.inner)),
        b_(shape.transpose_b ? random_matrix(shape.columns, shape.inner) : random_matrix(shape.inner, shape.columns)),
        node_(add_node()),
        kernel_(th::detail::KernelTable(groups_).at(node_).make(node_)),
        eigens_(shape.rows, shape.columns),
        blas_(shape.rows, shape.columns) {}

  void ours() {
    const th::KernelContext::Input inputs[] = {{.value = &a_}, {.value = &b_}};
    th::Tensor* const outputs[] = {&ours_};
    th::KernelContext context(node_, inputs, outputs, nullptr, scratch_, threads_);
    kernel_(context);
  }

  void eigens() {
    const ConstMap a(a_.data<float>().data(), a_.shape()[0], a_.shape()[1]);
    const ConstMap b(b_.data<float>().data(), b_.shape()[0], b_.shape()[1]);
    if (shape_.transpose_a && shape_.transpose_b) {
      eigens_.noalias() = a.transpose() * b.transpose();
    } else if (shape_.transpose_a) {
      eigens_.noalias() = a.transpose() * b;
    } else if (shape_.transpose_b) {
      eigens_.noalias() = a * b.transpose();
    } else {
      eigens_.noalias() = a * b;
    }
  }

#ifdef TRAINHOOK_BENCH_OPENBLAS
  void blas() {
    const auto size = [](std::int64_t extent) { return static_cast<blasint>(extent); };
    cblas_sgemm(CblasRowMajor, shape_.transpose_a ? CblasTrans : CblasNoTrans,
                shape_.transpose_b ? CblasTrans : CblasNoTrans, size(shape_.rows), size(shape_.columns),
                size(shape_.inner), 1, a_.data<float>().data(), size(a_.shape()[1]), b_.data<float>().data(),
                size(b_.shape()[1]), 0, blas_.data(), size(shape_.columns));
  }
#endif

  /// The largest difference between the kernel's product and Eigen's.
  [[nodiscard]] float difference() const {
    return (ConstMap(ours_.data<float>().data(), shape_.rows, shape_.columns) - eigens_).cwiseAbs().maxCoeff();
  }

 private:
  const th::Node& add_node() {
    const auto input = [&] {
      return graph_
          .add({.type = "Placeholder", .attrs = {{"dtype", th::DType::Float}}, .outputs = {{th::DType::Float, {}}}})
          .output();
    };
    const th::Attrs attrs{
        {"T", th::DType::Float}, {"transpose_a", shape_.transpose_a}, {"transpose_b", shape_.transpose_b}};
    return graph_
        .add({.type = "MatMul", .inputs = {input(), input()}, .attrs = attrs, .outputs = {{th::DType::Float, {}}}})
        .node();
  }

  Case shape_;
  th::Tensor a_, b_, ours_, scratch_;
  th::detail::KernelThreads threads_{1};
  th::Graph graph_;
  th::KernelGroup groups_[1] = {th::kernels::matmul()};
  const th::Node& node_;
  th::Kernel kernel_;
  Matrix eigens_, blas_;
};

/// Keeps the least of what a repeated measurement takes, in microseconds: other programs only ever add to it.
class Least {
 public:
  template <class Work>
  void measure(int calls, const Work& work) {
    const double taken = th::bench::seconds([&] {
      for (int i = 0; i < calls; ++i) work();
    });
    least_ = std::min(least_, taken * 1e6 / calls);
  }
  [[nodiscard]] double get() const { return least_; }

 private:
  double least_ = std::numeric_limits<double>::infinity();
};

/// Measures one row. @returns whether the products agree.
bool measure(const Case& shape) {
  Product product(shape);
  Least ours;
  Least eigens;
  Least blas;
  const double work = static_cast<double>(shape.rows * shape.inner * shape.columns);
  const int calls = std::max(1, static_cast<int>(1e7 / work));
  const int rounds = work > 1e8 ? 12 : 200;
  for (int round = 0; round < rounds; ++round) {  // by turns, so that other load on the machine meets all of them
    eigens.measure(calls, [&] { product.eigens(); });
    ours.measure(calls, [&] { product.ours(); });
#ifdef TRAINHOOK_BENCH_OPENBLAS
    blas.measure(calls, [&] { product.blas(); });
#endif
  }
  th::bench::report({.name = shape.name,
                     .ours = ours.get(),
                     .peer = eigens.get(),
                     .peer_name = "Eigen's product",
                     .unit = "us",
                     .goal = shape.goal});
#ifdef TRAINHOOK_BENCH_OPENBLAS
  th::bench::report({.name = std::string(shape.name) + "_openblas",
                     .ours = ours.get(),
                     .peer = blas.get(),
                     .peer_name = "OpenBLAS, one thread",
                     .unit = "us",
                     .goal = 10});  // for orientation
#endif
  return product.difference() < 1e-3F;
}

}  // namespace

int main(int argc, char** argv) {
  Eigen::setNbThreads(1);
#ifdef TRAINHOOK_BENCH_OPENBLAS
  openblas_set_num_threads(1);
#endif
  const std::span<char*> only(argv + 1, argv + argc);  // names of rows; without any, all of them
  for (const Case& shape : kCases) {
    if (!only.empty() && std::ranges::find(only, std::string(shape.name)) == only.end()) continue;
    // Each row has a process of its own: malloc keeps large blocks once it has seen larger ones, and Eigen's time
    // depends on that.
    const pid_t child = ::fork();
    if (child == 0) return measure(shape) ? EXIT_SUCCESS : EXIT_FAILURE;
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0) return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
