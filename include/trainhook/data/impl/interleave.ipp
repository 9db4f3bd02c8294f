// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/data/stages.hpp>

#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/user_call.hpp>
#include <trainhook/data/iterator_state.hpp>

namespace trainhook::detail {

/// Follows `tf.data`: the slots of the cycle take turns of `block_length` elements. If a slot's dataset has ended, the
/// slot passes, and in its next turn opens the dataset of the next element.
class InterleaveStream final : public ElementStream {
 public:
  InterleaveStream(std::unique_ptr<ElementStream> input, ElementSpec input_spec,
                   std::shared_ptr<const InterleaveCall> call, const Pass& pass)
      : input_(std::move(input)),
        input_spec_(std::move(input_spec)),
        call_(std::move(call)),
        pass_(pass),
        slots_(call_->cycle_length) {}

  bool next(Element& element) override {
    while (!input_ended_ || open_slots_ > 0) {
      Slot& slot = slots_[turn_];
      if (slot.stream != nullptr) {
        if (slot.stream->next(element)) {
          if (++taken_ == call_->block_length) pass_turn();
          check_element(call_->spec, element, "interleave");
          return true;
        }
        slot = Slot();
        --open_slots_;
        pass_turn();
      } else if (!input_ended_) {
        Slot fresh;
        if (input_->next(fresh.argument)) {
          fresh.number = opened_++;
          slot = open_slot(std::move(fresh));
          ++open_slots_;
        } else {
          input_ended_ = true;
        }
      } else {
        pass_turn();
      }
    }
    return false;
  }
  void save(StateWriter& writer) override {
    writer.integer(turn_);
    writer.integer(static_cast<std::uint64_t>(taken_));
    writer.integer(opened_);
    writer.boolean(input_ended_);
    for (Slot& slot : slots_) {
      writer.boolean(slot.stream != nullptr);
      if (slot.stream == nullptr) continue;
      writer.element(slot.argument);
      writer.integer(slot.number);
      writer.string(slot.pipeline);
      save_sources(sources_of(*slot.node), writer);
      slot.stream->save(writer);
    }
    input_->save(writer);
  }
  void restore(StateReader& reader) override {
    turn_ = static_cast<std::size_t>(reader.integer("the turn of interleave", slots_.size() - 1));
    taken_ = reader.position("the turn's elements", call_->block_length - 1);
    opened_ = reader.integer("the count of interleave's datasets");
    input_ended_ = reader.boolean("the end of interleave's input");
    for (Slot& slot : slots_) {
      if (!reader.boolean("whether a slot is open")) continue;
      Slot fresh;
      fresh.argument = reader.element(input_spec_);
      fresh.number = reader.integer("the number of a dataset");
      const std::string saved(reader.string("the pipeline of a dataset"));
      slot = open_slot(std::move(fresh));
      if (slot.pipeline != saved) {
        throw InvalidArgumentError("interleave: the function now makes the dataset {} of what had become {}",
                                   slot.pipeline, saved);
      }
      check_sources(sources_of(*slot.node), reader);
      slot.stream->restore(reader);
      ++open_slots_;
    }
    input_->restore(reader);
  }

 private:
  struct Slot {
    Element argument{};
    std::uint64_t number = 0;  // how many datasets were opened before
    std::string pipeline{};
    NodePtr node{};
    std::unique_ptr<ElementStream> stream{};
  };

  [[nodiscard]] Slot open_slot(Slot slot) const {
    slot.node = call_of_user("the function of interleave", {}, [&] { return call_->function(slot.argument); });
    std::vector<std::string> stages;
    describe_pipeline(*slot.node, stages);
    for (const std::string& stage : stages)
      slot.pipeline += fmt::format("{}{}", slot.pipeline.empty() ? "" : " | ", stage);
    // Only now is it known that a seed is needed: too late to draw one that every saved state holds.
    if (slot.node->needs_entropy()) {
      throw InvalidArgumentError(
          "interleave: the function made the dataset {}, which shuffles without a seed; give it one", slot.pipeline);
    }
    slot.stream = slot.node->elements(pass_.input(1).repetition(slot.number));
    return slot;
  }
  void pass_turn() noexcept {
    turn_ = (turn_ + 1) % slots_.size();
    taken_ = 0;
  }

  std::unique_ptr<ElementStream> input_;
  ElementSpec input_spec_;
  std::shared_ptr<const InterleaveCall> call_;
  Pass pass_;
  std::vector<Slot> slots_;
  std::size_t turn_ = 0;
  std::int64_t taken_ = 0;  // in this turn
  std::uint64_t opened_ = 0;
  std::size_t open_slots_ = 0;
  bool input_ended_ = false;
};

InterleaveNode::InterleaveNode(NodePtr input, std::function<NodePtr(const Element&)> function, const ElementSpec& spec,
                               std::int64_t cycle_length, std::int64_t block_length)
    : DatasetNode({std::move(input)}, spec) {
  if (cycle_length < 1 || block_length < 1) {
    throw InvalidArgumentError("interleave: cycle_length {} and block_length {} have to be positive", cycle_length,
                               block_length);
  }
  call_ = std::make_shared<InterleaveCall>(
      InterleaveCall{std::move(function), spec, static_cast<std::size_t>(cycle_length), block_length});
}

std::string InterleaveNode::describe() const {
  return fmt::format("interleave({}, {}){}", call_->cycle_length, call_->block_length, spec_to_string(spec()));
}

std::int64_t InterleaveNode::cardinality() const { return inputs()[0]->cardinality() == 0 ? 0 : kUnknownCardinality; }

std::unique_ptr<ElementStream> InterleaveNode::elements(const Pass& pass) const {
  return std::make_unique<InterleaveStream>(inputs()[0]->elements(pass.input()), inputs()[0]->spec(), call_, pass);
}

}  // namespace trainhook::detail
