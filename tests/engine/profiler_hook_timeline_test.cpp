// SPDX-License-Identifier: Apache-2.0
/// @file
/// A traced run in Chrome's format and as RunMetadata, to the byte.
#include <trainhook/engine/profiler_hook.hpp>

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/model/ops/math.hpp>
#include <trainhook/testing/log_lines.hpp>

namespace trainhook {
namespace {

class TracedRun : public ::testing::Test {
 protected:
  Graph graph;
  Output a = constant(graph, 1.0f, "a");
  Output b = constant(graph, 2.0f, "b");
  Output sum = add(a, b, "sum");
  RunMetadata run;

  void executed(const std::string& name, const std::string& type, std::int64_t start, std::int64_t end) {
    run.node_stats.push_back({.node_name = name, .op_type = type, .start_micros = start, .end_micros = end});
  }
};

TEST_F(TracedRun, IsABarForEachNodeWithItsInputs) {
  executed("a", "Const", 100, 101);
  executed("sum", "AddV2", 101, 107);
  EXPECT_EQ(generate_chrome_trace_format(run, graph),
            R"({"traceEvents":[{"name":"process_name","ph":"M","pid":1,"args":{"name":"/device:CPU:0 Compute"}},)"
            R"({"ph":"X","cat":"Op","name":"Const","pid":1,"tid":0,"ts":100,"dur":1,"args":{"name":"a","op":"Const"}},)"
            R"({"ph":"X","cat":"Op","name":"AddV2","pid":1,"tid":0,"ts":101,"dur":6,)"
            R"("args":{"name":"sum","op":"AddV2","input0":"a","input1":"b"}}]})"
            "\n");
}

TEST_F(TracedRun, NamesOfAnEngineAreWrittenAsUtf8) {
  const testing::LogLines log;
  executed("K\xe4se", "Copy", 0, 1);
  EXPECT_NE(generate_chrome_trace_format(run, graph).find("\"name\":\"K\xef\xbf\xbdse\""), std::string::npos);
  EXPECT_NE(detail::as_run_metadata(run, graph).find("K\xef\xbf\xbdse = Copy()"), std::string::npos);
  EXPECT_EQ(detail::as_run_metadata(run, graph).find("K\xe4se"), std::string::npos);
}

TEST_F(TracedRun, OfNothingIsStillATrace) {
  EXPECT_EQ(generate_chrome_trace_format(run, graph),
            R"({"traceEvents":[{"name":"process_name","ph":"M","pid":1,"args":{"name":"/device:CPU:0 Compute"}}]})"
            "\n");
}

TEST_F(TracedRun, PutsNodesThatOverlapIntoLanes) {
  executed("b", "Const", 5, 20);  // as they ended
  executed("a", "Const", 0, 10);
  executed("sum", "AddV2", 10, 12);
  executed("step", "UserCode", 11, 30);
  const std::string trace = generate_chrome_trace_format(run, graph);
  EXPECT_NE(trace.find(R"("name":"Const","pid":1,"tid":0,"ts":0,"dur":10)"), std::string::npos) << trace;
  EXPECT_NE(trace.find(R"("name":"Const","pid":1,"tid":1,"ts":5,"dur":15)"), std::string::npos) << trace;
  EXPECT_NE(trace.find(R"("name":"AddV2","pid":1,"tid":0,"ts":10,"dur":2)"), std::string::npos) << trace;
  EXPECT_NE(trace.find(R"("name":"UserCode","pid":1,"tid":2,"ts":11,"dur":19)"), std::string::npos) << trace;
}

TEST_F(TracedRun, TakesNamesThatNoGraphHas) {
  executed("a \"quoted\" \\ name\n", "My\tOp", 7, 9);
  EXPECT_NE(generate_chrome_trace_format(run, graph)
                .find(R"("args":{"name":"a \"quoted\" \\ name\u000a","op":"My\u0009Op"})"),
            std::string::npos);
}

TEST_F(TracedRun, TakesNoTimeIfTheClockWasSetBack) {
  executed("a", "Const", 100, 40);
  EXPECT_NE(generate_chrome_trace_format(run, graph).find(R"("ts":100,"dur":0)"), std::string::npos);
}

TEST_F(TracedRun, IsRunMetadataByteForByte) {
  executed("sum", "AddV2", 1, 4);
  const std::string node = "\x0a\x03sum\x10\x01\x20\x03\x28\x03\x42\x11sum = AddV2(a, b)\x48\x01";
  const std::string device = "\x0a\x0d/device:CPU:0\x12" + std::string(1, static_cast<char>(node.size())) + node;
  const std::string stats = "\x0a" + std::string(1, static_cast<char>(device.size())) + device;
  EXPECT_EQ(detail::as_run_metadata(run, graph), "\x0a" + std::string(1, static_cast<char>(stats.size())) + stats);
}

TEST_F(TracedRun, RunMetadataSaysInWhichLaneANodeRan) {
  executed("a", "Const", 0, 10);
  executed("b", "Const", 5, 6);
  EXPECT_TRUE(detail::as_run_metadata(run, graph).ends_with("b = Const()\x48\x05\x50\x01"));
}

}  // namespace
}  // namespace trainhook
