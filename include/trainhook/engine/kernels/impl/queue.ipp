// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of FIFOQueue: the session's queue, and the ops on it.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <trainhook/core/thread.hpp>
#include <trainhook/data/element.hpp>
#include <trainhook/engine/kernel.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/model/queue_runner_def.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// The live queue of a FIFOQueueV2 node. Thread-safe. Enqueues and dequeues wait in separate lines, first come, first
/// served. One condition variable signals every change.
class FIFOQueueState final : public NodeState {
 public:
  /// @throws InvalidArgumentError for a node whose attributes do not go together; UnimplementedError for one that
  /// shares its queue.
  explicit FIFOQueueState(const Node& node) : name_(node.name()) {
    const std::int64_t capacity = node.attr<std::int64_t>("capacity");
    capacity_ = capacity < 0 ? (std::numeric_limits<std::size_t>::max)() : static_cast<std::size_t>(capacity);
    for (const DType dtype : node.attr<std::vector<DType>>("component_types"))
      components_.push_back({dtype, PartialShape()});
    if (components_.empty()) throw InvalidArgumentError("FIFOQueue '{}' has no component_types", name_);
    take_shapes(node);
    expect_not_shared(node);
    for (QueueRunnerDef& runner : node.graph().collection<QueueRunnerDef>(graph_keys::kQueueRunners)) {
      if (runner.queue_name == name_) runners_.push_back(std::move(runner));
    }
  }

  [[nodiscard]] const ElementSpec& components() const noexcept { return components_; }

  /// Adds the elements, each as soon as there is room.
  /// @throws InvalidArgumentError if an element does not fit, before any is added; CancelledError if the queue or the
  /// session is closed; DeadlineExceededError if the run has a timeout and it ends before there is room.
  void enqueue(const KernelContext& context, std::vector<Element> elements) {
    for (const Element& element : elements) {
      if (trainhook::detail::matches(components_, element)) continue;
      throw InvalidArgumentError("FIFOQueue '{}' takes {}, not {}", name_, spec_to_string(components_),
                                 spec_to_string(spec_of(element)));
    }
    expect_here();
    std::unique_lock lock(mutex_);
    was_filled_ = true;
    if (closed_) throw CancelledError("FIFOQueue '{}' is closed", name_);
    const Place place(enqueuing_, changed_);
    for (Element& element : elements) {
      context.wait(lock, changed_, [&] { return refuses_ || (place.is_first() && elements_.size() < capacity_); });
      if (refuses_)
        throw CancelledError("the enqueue was cancelled: {} was closed", session_closed_ ? "the session" : "the queue");
      elements_.push_back(std::move(element));
      changed_.notify_all();
    }
  }

  /// Takes out `count` elements. @throws OutOfRangeError if the queue is closed and holds fewer, which stay;
  /// CancelledError if the session is closed; DeadlineExceededError if the run has a timeout and it ends before
  /// they are there.
  [[nodiscard]] std::vector<Element> dequeue(const KernelContext& context, std::size_t count) {
    std::vector<Element> taken;
    expect_here();
    std::unique_lock lock(mutex_);
    if (count > 0) expect_filler();
    const Place place(dequeuing_, changed_);
    try {
      while (taken.size() < count) take_one(context, lock, place, taken, count);
    } catch (...) {
      elements_.insert(elements_.begin(), std::make_move_iterator(taken.begin()), std::make_move_iterator(taken.end()));
      throw;
    }
    return taken;
  }

  void close(bool cancel_pending_enqueues) {
    expect_here();
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    if (cancel_pending_enqueues) refuses_ = true;
    changed_.notify_all();
  }

  [[nodiscard]] std::size_t size() {
    expect_here();
    const std::scoped_lock lock(mutex_);
    return elements_.size();
  }

  void cancel() noexcept override {
    if (!process_.is_here()) return;
    const std::scoped_lock lock(mutex_);
    session_closed_ = refuses_ = true;
    changed_.notify_all();
  }

 private:
  /// Throws in a forked child, which lacks the threads that fill the queue.
  void expect_here() const { process_.expect_here("this FIFOQueue"); }

  /// A thread's place in a line while this object exists. Create and destroy it with the queue's mutex held.
  class Place {
   public:
    Place(std::list<char>& line, std::condition_variable& changed)
        : line_(line), changed_(changed), at_(line.insert(line.end(), char{})) {}
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() {
      line_.erase(at_);
      changed_.notify_all();
    }
    [[nodiscard]] bool is_first() const noexcept { return at_ == line_.begin(); }

   private:
    std::list<char>& line_;
    std::condition_variable& changed_;
    std::list<char>::iterator at_;
  };

  void take_one(const KernelContext& context, std::unique_lock<std::mutex>& lock, const Place& place,
                std::vector<Element>& taken, std::size_t count) {
    context.wait(lock, changed_,
                 [&] { return session_closed_ || (place.is_first() && (!elements_.empty() || has_ended())); });
    if (session_closed_) throw CancelledError("the dequeue was cancelled: the session was closed");
    if (elements_.empty()) {
      throw OutOfRangeError("FIFOQueue '{}' is closed and has insufficient elements (requested {}, current size {})",
                            name_, count, taken.size());
    }
    taken.push_back(std::move(elements_.front()));
    elements_.pop_front();
    changed_.notify_all();
  }

  /// @throws FailedPreconditionError if a dequeue would wait forever.
  void expect_filler() const {
    const auto is_started = [](const QueueRunnerDef& runner) { return runner.started->load(); };
    if (runners_.empty() || was_filled_ || closed_ || session_closed_ || std::ranges::any_of(runners_, is_started))
      return;
    const auto has_ops = [](const QueueRunnerDef& runner) { return !runner.enqueue_ops.empty(); };
    throw FailedPreconditionError(
        "nothing fills FIFOQueue '{}': {}", name_,
        std::ranges::any_of(runners_, has_ops)
            ? "its queue runners were not started; a monitored session starts them, and so does start_queue_runners"
            : "the imported graph has no queue runner for it that can run here; "
              "run its enqueue operations, or feed what is dequeued");
  }

  /// True if no element will follow. Enqueues that waited when the queue was closed still add theirs.
  [[nodiscard]] bool has_ended() const noexcept { return closed_ && enqueuing_.empty(); }

  /// Reads the shapes, which may be missing. An empty list from a file has no type.
  void take_shapes(const Node& node) {
    const auto found = node.attrs().find("shapes");
    const auto* shapes = found == node.attrs().end() ? nullptr : std::get_if<std::vector<PartialShape>>(&found->second);
    if (shapes == nullptr || shapes->empty()) return;
    for (std::size_t i = 0; i < components_.size(); ++i) {
      if (shapes->size() != components_.size() || !(*shapes)[i].is_fully_known()) {
        throw InvalidArgumentError("FIFOQueue '{}': its shapes must be as many as its component_types, and fully known",
                                   name_);
      }
      components_[i].shape = (*shapes)[i];
    }
  }

  static void expect_not_shared(const Node& node) {
    const std::string& shared = node.attr<std::string>("shared_name");
    if (shared.empty()) return;
    for (const Node& other : node.graph().nodes()) {
      if (&other == &node || other.type() != node.type() || other.attr<std::string>("shared_name") != shared) continue;
      throw UnimplementedError(
          "FIFOQueue '{}' and '{}' share the name '{}'; queues that several nodes share are not supported", node.name(),
          other.name(), shared);
    }
  }

  std::string name_;
  std::size_t capacity_ = 0;
  ElementSpec components_;
  std::vector<QueueRunnerDef> runners_;

  trainhook::detail::ProcessMark process_;
  std::mutex mutex_;  // guards the members below
  WaitCondition changed_;
  std::deque<Element> elements_;
  std::list<char> enqueuing_;
  std::list<char> dequeuing_;
  bool was_filled_ = false;  // or an enqueue waits to do so
  bool closed_ = false;
  bool refuses_ = false;  // also refuses enqueues that wait
  bool session_closed_ = false;
};

inline std::unique_ptr<NodeState> make_queue_state(const Node& node, std::uint64_t) {
  return std::make_unique<FIFOQueueState>(node);
}

/// The queue that a node uses. @throws InvalidArgumentError if its first input is not a queue, UnimplementedError for
/// a timeout.
inline const Node& queue_node(const Node& node) {
  expect_resource(node, "FIFOQueueV2");
  if (node.has_attr("timeout_ms") && node.attr<std::int64_t>("timeout_ms") != -1) {
    throw UnimplementedError("{} ({}): timeout_ms is {}; queue operations have no timeout, give -1", node.name(),
                             node.type(), node.attr<std::int64_t>("timeout_ms"));
  }
  return node.inputs()[0].node();
}

/// @throws InvalidArgumentError unless the node's outputs have the dtypes of the queue's components.
inline const Node& queue_to_dequeue(const Node& node) {
  const Node& queue = queue_node(node);
  const auto& dtypes = queue.attr<std::vector<DType>>("component_types");
  if (!std::ranges::equal(node.outputs(), dtypes, {}, &OutputSpec::dtype)) {
    throw InvalidArgumentError("{} ({}): its component_types are not those of queue '{}'", node.name(), node.type(),
                               queue.name());
  }
  return queue;
}

inline Kernel make_enqueue(const Node& node) {
  queue_node(node);
  return +[](KernelContext& context) {
    Element element;
    for (std::size_t i = 1; i < context.num_inputs(); ++i) element.push_back(context.input(i));
    std::vector<Element> elements;
    elements.push_back(std::move(element));
    context.input_state<FIFOQueueState>(0).enqueue(context, std::move(elements));
  };
}

inline Kernel make_enqueue_many(const Node& node) {
  queue_node(node);
  return +[](KernelContext& context) {
    const std::size_t components = context.num_inputs() - 1;
    for (std::size_t i = 1; i <= components; ++i) {
      if (context.shape(i).rank() == 0 || context.shape(i)[0] != context.shape(1)[0])
        throw InvalidArgumentError("the components must have the same first dimension, one row for each element");
    }
    std::vector<Element> elements;
    for (std::int64_t row = 0; components > 0 && row < context.shape(1)[0]; ++row) {
      Element& element = elements.emplace_back(components);
      for (std::size_t i = 0; i < components; ++i)
        trainhook::detail::copy_row_out(context.input(i + 1), static_cast<std::size_t>(row), element[i]);
    }
    context.input_state<FIFOQueueState>(0).enqueue(context, std::move(elements));
  };
}

inline Kernel make_dequeue(const Node& node) {
  queue_to_dequeue(node);
  return +[](KernelContext& context) {
    std::vector<Element> taken = context.input_state<FIFOQueueState>(0).dequeue(context, 1);
    for (std::size_t i = 0; i < context.num_outputs(); ++i) context.set_output(i, std::move(taken[0][i]));
  };
}

inline Kernel make_dequeue_many(const Node& node) {
  const Node& queue = queue_to_dequeue(node);
  return [&queue](KernelContext& context) {
    FIFOQueueState& state = context.input_state<FIFOQueueState>(0);
    const std::int32_t count = context.input(1).scalar<std::int32_t>();
    if (count < 0) throw InvalidArgumentError("n is {}; it must not be negative", count);
    if (!state.components()[0].shape.has_rank())
      throw InvalidArgumentError("queue '{}' has no shapes, which this op needs", queue.name());
    const std::vector<Element> taken = state.dequeue(context, static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < context.num_outputs(); ++i) {
      const OutputSpec& component = state.components()[i];
      if (count == 0) {
        context.output(i, component.dtype, trainhook::detail::with_leading_dim(0, component.shape.dims()));
      } else {
        trainhook::detail::stack_component(taken, i, context.raw_output(i));
      }
    }
  };
}

inline Kernel make_queue_close(const Node& node) {
  queue_node(node);
  return [cancels = node.attr<bool>("cancel_pending_enqueues")](KernelContext& context) {
    context.input_state<FIFOQueueState>(0).close(cancels);
  };
}

inline Kernel make_queue_size(const Node& node) {
  queue_node(node);
  return +[](KernelContext& context) {
    context.output<std::int32_t>(0, Shape{})[0] =
        static_cast<std::int32_t>(context.input_state<FIFOQueueState>(0).size());
  };
}

inline constexpr std::array kQueue{
    KernelDef{.type = "FIFOQueueV2", .stateful = true, .make_state = make_queue_state},
    KernelDef{.type = "QueueCloseV2", .make = make_queue_close, .stateful = true},
    KernelDef{.type = "QueueDequeueManyV2", .make = make_dequeue_many, .stateful = true},
    KernelDef{.type = "QueueDequeueV2", .make = make_dequeue, .stateful = true},
    KernelDef{.type = "QueueEnqueueManyV2", .make = make_enqueue_many, .stateful = true},
    KernelDef{.type = "QueueEnqueueV2", .make = make_enqueue, .stateful = true},
    KernelDef{.type = "QueueSizeV2", .make = make_queue_size, .stateful = true},
};

}  // namespace detail

KernelGroup queue() noexcept { return detail::kQueue; }

}  // namespace trainhook::kernels
