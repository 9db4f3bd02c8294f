// SPDX-License-Identifier: Apache-2.0
/// @file
/// Runs the pipelines of test_data.py and writes their elements and cardinalities for it; reads what TensorFlow left in
/// the directory.

#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/data/file_sources.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/records.hpp>
#include <trainhook/io/whole_file.hpp>

namespace {

namespace th = trainhook;
using th::Dataset;
using th::Element;
using th::Tensor;

constexpr std::int64_t kShuffled = 100;  // elements of an epoch
constexpr std::int64_t kEpochs = 3;

std::int64_t integer(const Element& element) { return element[0].scalar<std::int64_t>(); }

Element square(const Element& element) { return {Tensor(integer(element) * integer(element) + 1)}; }

bool is_odd(const Element& element) { return integer(element) % 2 != 0; }

/// The numbers 100 x to 100 x + x % 4 - 1, none for every fourth x.
Dataset few(const Element& element) {
  const std::int64_t x = integer(element);
  return Dataset::range(100 * x, 100 * x + x % 4);
}

Dataset rows() {
  return Dataset::from_tensor_slices({Tensor::of<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {5, 2}),
                                      Tensor::of<std::string>({"a", "", "c\n", "\xc3\xa9", "e"})});
}

/// A source of one's own: three powers.
class Powers final : public th::RowSource {
 public:
  [[nodiscard]] std::int64_t size() const noexcept override { return 6; }
  [[nodiscard]] const th::ElementSpec& element_spec() const noexcept override { return spec_; }
  [[nodiscard]] std::string describe() const override { return "powers"; }
  void read(std::int64_t index, Element& row) const override {
    row = {Tensor::of<std::int64_t>({index, index * index})};
  }

 private:
  th::ElementSpec spec_ = {{th::DType::Int64, th::PartialShape(th::Shape{2})}};
};

Dataset counted_down() {
  return Dataset::from_generator({{th::DType::Int64, th::PartialShape(th::Shape{})}}, [] {
    return th::Generator{.next = [left = std::int64_t{5}](Element& element) mutable {
      if (left == 0) return false;
      element = {Tensor(left--)};
      return true;
    }};
  });
}

/// All elements; if `restores` says so, each by another iterator, which goes on where the last one was saved.
std::vector<Element> elements_of(const Dataset& dataset, bool restores) {
  std::vector<Element> elements;
  auto iterator = std::make_unique<th::DatasetIterator>(dataset.make_iterator());
  for (Element element; iterator->next(element);) {
    elements.push_back(element);
    if (!restores) continue;
    const std::string state = iterator->save();
    iterator = std::make_unique<th::DatasetIterator>(dataset.make_iterator());
    iterator->restore(state);
  }
  return elements;
}

/// Runs pipelines, from end to end and restored after each element, and writes what comes out, component by component,
/// under
/// `<name>/<element>/<component>`.
class Writer {
 public:
  explicit Writer(std::string directory)
      : directory_(std::move(directory)), values_(th::join_path(directory_, "elements")) {}

  /// `name` begins with the function that it is the case of.
  void write(const std::string& name, const Dataset& dataset) {
    const std::vector<Element> elements = elements_of(dataset, false);
    if (dataset.external_state().empty()) {
      if (elements_of(dataset, true) != elements)
        throw th::InternalError("{} is another one when it is restored after each element", name);
      ++restored;
    }
    for (std::size_t k = 0; k < elements.size(); ++k) {
      for (std::size_t i = 0; i < elements[k].size(); ++i)
        values_.add(fmt::format("{}/{}/{}", name, k, i), elements[k][i]);
    }
    list_ += fmt::format("{}\t{}\t{}\n", name, dataset.cardinality(), elements.size());
  }

  [[nodiscard]] std::string path(std::string_view name) const { return th::join_path(directory_, name); }

  void finish() {
    values_.finish();
    th::write_file_atomically(th::posix_file_system(), path("cases.tsv"), list_);
  }

  std::size_t restored = 0;  // pipelines

 private:
  std::string directory_;
  th::BundleWriter values_;
  std::string list_;
};

void write_sources(Writer& out) {
  out.write("range.end", Dataset::range(5));
  out.write("range.step", Dataset::range(2, 17, 4));
  out.write("range.down", Dataset::range(10, 0, -3));
  out.write("range.empty", Dataset::range(3, 3));
  out.write("from_tensors.pair", Dataset::from_tensors({Tensor::of<float>({1, 2}), Tensor(std::string_view("x"))}));
  out.write("from_tensor_slices.pair", rows());
  out.write("from_tensor_slices.bytes", Dataset::from_tensor_slices({Tensor::of<std::uint8_t>({0, 255, 7})}));
  out.write("from_function.squares", Dataset::from_function(6, [](std::int64_t i) { return Element{Tensor(i * i)}; }));
  out.write("from_rows.powers", Dataset::from_rows(std::make_shared<Powers>()));
  out.write("from_generator.down", counted_down());
  out.write("from_generator.repeated", counted_down().repeat(2));
  const std::vector<std::string> texts{out.path("unix.txt"), out.path("empty.txt"), out.path("dos.txt"),
                                       out.path("open.txt")};
  out.write("text_line_dataset.files", th::text_line_dataset(texts));
  out.write("text_line_dataset.none", th::text_line_dataset({}));
  out.write("text_line_dataset.inner", th::text_line_dataset({out.path("inner.txt")}));
  out.write("allow_changed_sources.files", th::text_line_dataset(texts).allow_changed_sources());
  const std::vector<std::string> records{out.path("theirs.tfrecord"), out.path("empty.tfrecord"),
                                         out.path("theirs.tfrecord")};
  out.write("tf_record_dataset.files", th::tf_record_dataset(records));
}

void write_stages(Writer& out) {
  const Dataset numbers = Dataset::range(11);
  out.write("map.one", numbers.map(square));
  out.write("map.parallel", numbers.map(square, {.num_parallel_calls = 3}));
  out.write("map.twice", numbers.map(square).map(square, {.num_parallel_calls = 2}).batch(4));
  out.write("filter.odd", numbers.filter(is_odd));
  out.write("filter.nothing", numbers.filter([](const Element& element) { return integer(element) > 100; }));
  out.write("zip.unequal", Dataset::zip({numbers, Dataset::range(50, 55), rows()}));
  out.write("zip.endless", Dataset::zip({numbers.repeat(), Dataset::range(25)}));
  out.write("concatenate.two", numbers.concatenate(Dataset::range(30, 33)));
  out.write("concatenate.repeated", Dataset::range(2).concatenate(Dataset::range(7, 9)).repeat(2).batch(3));
  out.write("flat_map.few", numbers.flat_map(few));
  for (const std::int64_t count : {0, 1, 3}) out.write(fmt::format("repeat.{}", count), numbers.repeat(count));
  out.write("repeat.endless", numbers.repeat().take(40));
  out.write("repeat.of_nothing", Dataset::range(0).repeat(4));
  for (const std::int64_t count : {-1, 0, 4, 50}) {
    out.write(fmt::format("take.{}", count), numbers.take(count));
    out.write(fmt::format("skip.{}", count), numbers.skip(count));
  }
  out.write("skip.of_endless", numbers.repeat().skip(15).take(12));
  for (std::int64_t index = 0; index < 4; ++index) {
    out.write(fmt::format("shard.{}", index), numbers.shard(4, index));
    out.write(fmt::format("shard.batched_{}", index), numbers.batch(2).shard(4, index));
  }
  for (const std::int64_t size : {1, 3, 11, 20}) {
    out.write(fmt::format("batch.{}", size), numbers.batch(size));
    out.write(fmt::format("batch.full_{}", size), numbers.batch(size, {.drop_remainder = true}));
  }
  out.write("batch.rows", rows().batch(2));
  out.write("batch.batches", rows().take(4).batch(2).batch(2));
  out.write("batch.repeated", numbers.batch(4).repeat(2));
  out.write("batch.over_epochs", numbers.repeat(3).batch(4, {.drop_remainder = true}));
  for (const std::int64_t size : {1, 4, 50})
    out.write(fmt::format("prefetch.{}", size), numbers.map(square).prefetch(size).batch(3));
}

void write_interleaved(Writer& out) {
  for (std::int64_t cycle = 1; cycle <= 6; ++cycle) {
    for (std::int64_t block = 1; block <= 4; ++block) {
      for (const std::int64_t inputs : {0, 1, 4, 13}) {
        const Dataset dataset = Dataset::range(inputs).interleave(few, {.cycle_length = cycle, .block_length = block});
        out.write(fmt::format("interleave.{}_{}_{}", cycle, block, inputs), dataset);
      }
    }
  }
  out.write("interleave.repeated",
            Dataset::range(9).interleave(few, {.cycle_length = 3, .block_length = 2}).repeat(2).batch(4));
}

void write_shuffled(Writer& out) {
  const Dataset numbers = Dataset::range(kShuffled);
  for (const std::int64_t buffer : {1, 10, 100, 1'000}) {
    out.write(fmt::format("shuffle.{}", buffer), numbers.shuffle(buffer, 7).repeat(kEpochs));
    out.write(fmt::format("shuffle.same_{}", buffer),
              numbers.shuffle(buffer, 7, {.reshuffle_each_iteration = false}).repeat(kEpochs));
    out.write(fmt::format("shuffle.across_{}", buffer), numbers.repeat(kEpochs).shuffle(buffer, 7));
    out.write(fmt::format("shuffle.contents_{}", buffer),
              numbers.filter([](const Element&) { return true; }).shuffle(buffer, 7).repeat(kEpochs));
  }
  out.write("shuffle.often", Dataset::range(20).shuffle(8, 7).repeat(5'000).batch(20).batch(5'000));
}

void write_records(const std::string& path) {
  th::detail::RecordWriter records(th::posix_file_system().create_writable(path, th::WriteMode::Truncate));
  for (const std::size_t size : {0U, 1U, 11U, 4'096U, 200'000U})
    records.write(std::string(size, static_cast<char>('a' + size % 26)));
  records.close();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw th::InvalidArgumentError("usage: write_data <directory>");
    Writer out(argv[1]);
    write_sources(out);
    write_stages(out);
    write_interleaved(out);
    write_shuffled(out);
    out.finish();
    write_records(out.path("ours.tfrecord"));
    fmt::print("{} pipelines restored after each element\n", out.restored);
  } catch (const std::exception& error) {
    fmt::print(stderr, "write_data: {}\n", error.what());
    return 1;
  }
}
