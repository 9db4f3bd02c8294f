// SPDX-License-Identifier: Apache-2.0
/// @file
/// Summaries of images and audio in the memory of a LoopSession.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <trainhook/graph/node.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/loop/variable_memory.hpp>
#include <trainhook/media/batch_summary.hpp>

namespace trainhook {

namespace detail {

template <class M>
inline constexpr bool kIsColumnMajor = false;
template <DenseMatrix M>
inline constexpr bool kIsColumnMajor<M> = !static_cast<bool>(M::IsRowMajor);

/// The element type of a span, vector, array or row-major matrix.
template <class M>
using MediaElement = std::remove_const_t<PointedElement<const M>>;

/// Memory with elements of one of the types `T`.
template <class M, class... T>
concept MediaContainer = requires(const M& memory) {
  std::data(memory);
  std::size(memory);
} && (std::same_as<MediaElement<M>, T> || ...) && !kIsColumnMajor<M>;

/// Such memory, or a function that returns it.
template <class M, class... T>
concept MediaSource = MediaContainer<M, T...> ||
                      (std::invocable<M&> && MediaContainer<std::remove_cvref_t<std::invoke_result_t<M&>>, T...>);

/// A function that returns the current elements at each call. It refers to the container, which must outlive it.
template <class Memory>
[[nodiscard]] auto media_reader(Memory&& memory) {
  using Plain = std::remove_cvref_t<Memory>;
  if constexpr (std::invocable<Plain&>) {
    return Plain(std::forward<Memory>(memory));
  } else if constexpr (kIsSpan<Plain>) {
    return [memory] { return memory; };
  } else {
    static_assert(std::is_lvalue_reference_v<Memory>,
                  "a summary refers to its memory: give it a variable that outlives the session, not a temporary");
    return [&memory]() -> const Plain& { return memory; };
  }
}

/// Memory is checked when it is registered; the result of a function when it is called.
template <class Memory, class Batch>
void check_media(std::string_view name, const Memory& memory, const Batch& batch) {
  check_batch(name, batch);
  if constexpr (!std::invocable<const Memory&>) {
    check_in_one_piece(name, memory);
    check_batch_size(name, batch, static_cast<std::size_t>(std::size(memory)));
  }
}

}  // namespace detail

namespace summary {

/// Images in the loop's memory, for the Images dashboard: `th::summary::image(loop, "digits", pixels, {.height = 28,
/// .width = 28})`. `pixels` is a span, a variable that outlives the session (vector, array, row-major matrix), or a
/// function that returns one of these, of uint8_t, float or double; runs that fetch the summary read it after the step.
/// For tags and colours see `image_batch_summary`.
/// @throws InvalidArgumentError, naming the summary, if the memory has not the sizes of `batch`.
template <class Pixels>
  requires detail::MediaSource<std::remove_cvref_t<Pixels>, std::uint8_t, float, double>
Output image(LoopSession& loop, std::string_view name, Pixels&& pixels, const ImageBatch& batch) {
  detail::check_media(name, pixels, batch);
  return loop.summary(
      name, [read = detail::media_reader(std::forward<Pixels>(pixels)), batch](std::string_view tag) mutable {
        const auto& now = read();
        using Element = detail::MediaElement<std::remove_cvref_t<decltype(now)>>;
        return image_batch_summary(
            tag, std::span<const Element>(std::data(now), static_cast<std::size_t>(std::size(now))), batch);
      });
}

/// Audio in the loop's memory, for the Audio dashboard: `th::summary::audio(loop, "tone", samples, {.sample_rate =
/// 16'000})`. `samples` may be the same as `pixels` above, with float elements. For tags see `audio_batch_summary`.
/// @throws InvalidArgumentError, naming the summary, if the memory has not the sizes of `batch`.
template <class Samples>
  requires detail::MediaSource<std::remove_cvref_t<Samples>, float>
Output audio(LoopSession& loop, std::string_view name, Samples&& samples, const AudioBatch& batch) {
  detail::check_media(name, samples, batch);
  return loop.summary(
      name, [read = detail::media_reader(std::forward<Samples>(samples)), batch](std::string_view tag) mutable {
        const auto& now = read();
        return audio_batch_summary(
            tag, std::span<const float>(std::data(now), static_cast<std::size_t>(std::size(now))), batch);
      });
}

}  // namespace summary
}  // namespace trainhook
