// SPDX-License-Identifier: Apache-2.0
/// @file
/// Small pipelines, and words for looking at what they give.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/data/dataset.hpp>

namespace pipelines {

namespace th = trainhook;

inline std::vector<th::Element> rest(th::DatasetIterator& iterator) {
  std::vector<th::Element> elements;
  th::Element element;
  while (iterator.next(element)) elements.push_back(element);
  return elements;
}
inline std::vector<th::Element> all(const th::Dataset& dataset) {
  th::DatasetIterator iterator = dataset.make_iterator();
  return rest(iterator);
}

/// All values of the first component, one element after the other.
inline std::vector<std::int64_t> values(const std::vector<th::Element>& elements) {
  std::vector<std::int64_t> result;
  for (const th::Element& element : elements) {
    const auto data = element[0].data<std::int64_t>();
    result.insert(result.end(), data.begin(), data.end());
  }
  return result;
}
inline std::vector<std::int64_t> values(const th::Dataset& dataset) { return values(all(dataset)); }

inline th::Element times_ten(th::Element element) {
  return {th::Tensor(static_cast<std::int64_t>(static_cast<std::uint64_t>(element[0].scalar<std::int64_t>()) *
                                               10))};  // a damaged state may hold any number
}
inline bool is_even(const th::Element& element) { return element[0].scalar<std::int64_t>() % 2 == 0; }

inline th::ElementSpec int_spec() { return {{th::DType::Int64, th::Shape{}}}; }

/// 0 to end - 1 from a generator that can be saved, so that nothing can seek.
inline th::Dataset generated(std::int64_t end) {
  return th::Dataset::from_generator(
      int_spec(),
      [end] {
        auto next = std::make_shared<std::int64_t>(0);
        return th::Generator{.next =
                                 [next, end](th::Element& element) {
                                   if (*next == end) return false;
                                   element.assign(1, th::Tensor((*next)++));
                                   return true;
                                 },
                             .save = [next] { return std::to_string(*next); },
                             .restore =
                                 [next](std::string_view state) {
                                   for (char c : state) {
                                     if (c < '0' || c > '9' || state.size() > 9)
                                       throw th::DataLossError("'{}' is not a state of this generator", state);
                                   }
                                   *next = state.empty() ? 0 : std::stoll(std::string(state));
                                 }};
      },
      "counter");
}

/// Lets a source wait for the program that uses it.
class Gate {
 public:
  /// The source may give elements 0 to `end` - 1.
  void open_until(std::int64_t end) {
    const std::scoped_lock lock(mutex_);
    end_ = end;
    changed_.notify_all();
  }
  /// Called by the source.
  void pass(std::int64_t number) {
    std::unique_lock lock(mutex_);
    waiting_ = number;
    changed_.notify_all();
    changed_.wait(lock, [this, number] { return number < end_; });
  }
  /// Waits until the source wants to give that element and may not.
  void await(std::int64_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, number] { return waiting_ == number && number >= end_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t end_ = 0;
  std::int64_t waiting_ = -1;
};

/// `generated`, but each element waits for the gate.
inline th::Dataset gated(std::int64_t end, Gate& gate) {
  return generated(end).map([&gate](th::Element element) {
    gate.pass(element[0].scalar<std::int64_t>());
    return element;
  });
}

/// The same without a way to save it.
inline th::Dataset unsavable(std::int64_t end) {
  return th::Dataset::from_generator(
      int_spec(),
      [end] {
        auto next = std::make_shared<std::int64_t>(0);
        return th::Generator{.next = [next, end](th::Element& element) {
          if (*next == end) return false;
          element.assign(1, th::Tensor((*next)++));
          return true;
        }};
      },
      "sensor");
}

/// As many elements as the element says, in an order of their own.
inline th::Dataset counted_shuffled(const th::Element& element) {
  return th::Dataset::range(
             static_cast<std::int64_t>(static_cast<std::uint64_t>(element[0].scalar<std::int64_t>()) % 8))
      .shuffle(3, 5);
}

struct Pipeline {
  friend void PrintTo(const Pipeline& pipeline, std::ostream* out) { *out << pipeline.name; }
  std::string name;
  th::Dataset dataset;
  std::int64_t look = 60;  // how many elements to look at, of pipelines that never end
};

/// One of each kind, over sources that can seek and over one that cannot.
inline std::vector<Pipeline> zoo() {
  using th::Dataset;
  std::vector<Pipeline> result;
  const auto both = [&result](const std::string& name, const std::function<Dataset(Dataset)>& build) {
    result.push_back({name + " of range", build(Dataset::range(23))});
    result.push_back({name + " of generator", build(generated(23))});
  };
  both("nothing", [](Dataset d) { return d; });
  both("take and skip", [](Dataset d) { return d.skip(3).take(9); });
  both("shard", [](Dataset d) { return d.shard(4, 2); });
  both("repeat", [](Dataset d) { return d.repeat(3); });
  both("repeat for ever", [](Dataset d) { return d.repeat(); });
  both("shuffle", [](Dataset d) { return d.shuffle(5, 7); });
  both("shuffle without seed", [](Dataset d) { return d.shuffle(50).repeat(2); });
  both("shuffle, repeat, batch", [](Dataset d) { return d.shuffle(8, 7).repeat(3).batch(4); });
  both("batch, shuffle, repeat", [](Dataset d) { return d.batch(4).shuffle(3, 1).repeat(3); });
  both("batch of batch", [](Dataset d) { return d.batch(2, {.drop_remainder = true}).batch(3); });
  both("map", [](Dataset d) { return d.shuffle(4, 1).map(times_ten).batch(2); });
  both("stateful map", [](Dataset d) { return d.map(times_ten, {.stateful = true}).shuffle(4, 2); });
  both("filter", [](Dataset d) { return d.filter(is_even).shuffle(4, 1).repeat(2); });
  both("concatenate", [](Dataset d) { return d.shuffle(4, 1).concatenate(d.map(times_ten)).shuffle(9, 3); });
  both("zip", [](Dataset d) { return Dataset::zip({d.shuffle(4, 1), d.repeat().skip(2)}); });
  both("zip of sources", [](Dataset d) { return Dataset::zip({d, d.map(times_ten)}).shuffle(6, 2).batch(3); });
  both("prefetch", [](Dataset d) { return d.shuffle(8, 7).repeat(2).batch(3).prefetch(2); });
  both("prefetch in the middle", [](Dataset d) { return d.prefetch(3).shuffle(8, 7).prefetch(1); });
  both("prefetch behind filter", [](Dataset d) { return d.filter(is_even).prefetch(4).repeat(3); });
  both("nested repeat", [](Dataset d) { return d.take(5).shuffle(5, 2).repeat(2).skip(1).repeat(3); });
  both("parallel map", [](Dataset d) { return d.map(times_ten, {.num_parallel_calls = 3}).shuffle(4, 1).repeat(2); });
  both("parallel map and prefetch",
       [](Dataset d) { return d.map(times_ten, {.num_parallel_calls = 2}).batch(3).prefetch(2); });
  both("interleave", [](Dataset d) {
    return d.take(6).interleave(counted_shuffled, {.cycle_length = 3, .block_length = 2}).repeat(2);
  });
  both("interleave of generators", [](Dataset d) {
    return d.take(6).interleave(
        [](const th::Element& element) {
          return generated(
              static_cast<std::int64_t>(static_cast<std::uint64_t>(element[0].scalar<std::int64_t>()) % 8));
        },
        {.cycle_length = 2});
  });
  both("flat map", [](Dataset d) { return d.take(6).flat_map(counted_shuffled).prefetch(2).shuffle(3, 1); });
  result.push_back(
      {"strings",
       Dataset::from_tensor_slices({th::Tensor::of<std::string>({"a", "bb", "", "dddd"})}).shuffle(3, 1).batch(3)});
  result.push_back({"single", Dataset::from_tensors({th::Tensor::of<float>({1, 2}), th::Tensor("x")}).repeat(4)});
  result.push_back({"function", Dataset::from_function(9, [](std::int64_t i) {
                                  return th::Element{th::Tensor(i), th::Tensor(0.5F)};
                                }).shuffle(4, 9)});
  result.push_back({"empty", Dataset::range(0).repeat().batch(2)});
  return result;
}

/// `zoo()`'s elements from the iterator's position on, as far as one wants to look.
inline std::vector<th::Element> some(th::DatasetIterator& iterator, std::int64_t most) {
  std::vector<th::Element> elements;
  th::Element element;
  while (most-- > 0 && iterator.next(element)) elements.push_back(element);
  return elements;
}

}  // namespace pipelines
