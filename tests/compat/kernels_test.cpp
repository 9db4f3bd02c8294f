// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sessions with and without the kernels of imported graphs.
#include <trainhook/compat/kernels.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/compat/import_graph_def.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/graph/graph.hpp>

namespace trainhook {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// A graph in which a predicate chooses a number.
class CompatKernels : public ::testing::Test {
 protected:
  CompatKernels() {
    import_graph_def(graph_, parse_graph_def_text(R"(
      node { name: "p" op: "Const" attr { key: "dtype" value { type: DT_BOOL } }
             attr { key: "value" value { tensor { dtype: DT_BOOL tensor_shape {} bool_val: true } } } }
      node { name: "x" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
             attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 3 } } } }
      node { name: "switch" op: "Switch" input: "x" input: "p" attr { key: "T" value { type: DT_FLOAT } } }
      node { name: "merge" op: "Merge" input: "switch:0" input: "switch:1"
             attr { key: "T" value { type: DT_FLOAT } } attr { key: "N" value { i: 2 } } }
    )"),
                     {.name = ""});
  }

  Graph graph_;
};

TEST_F(CompatKernels, RunWhatNoProgramBuilds) {
  EigenSession session(graph_, {.kernels = compat::kernels()});
  EXPECT_EQ(session.run("merge:0"), Tensor(3.0F));
}

TEST_F(CompatKernels, AreNamedByTheFirstRunThatNeedsThem) {
  EigenSession session(graph_);
  EXPECT_EQ(session.run("x"), Tensor(3.0F));
  EXPECT_THAT([&] { session.run("merge:0"); },
              ThrowsMessage<UnimplementedError>(HasSubstr(
                  "op type Merge of node 'merge' has no kernel in this session; give its kernel group in the session's "
                  "options: for imported graphs, include <trainhook/compat_kernels.hpp> and give {.kernels = "
                  "compat::kernels()}")));
}

}  // namespace
}  // namespace trainhook
