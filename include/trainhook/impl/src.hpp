// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of the core library and of testing/, for the one file of a program that compiles them.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/core/impl/buffer.ipp>
#include <trainhook/core/impl/buffer_pool.ipp>
#include <trainhook/core/impl/clock.ipp>
#include <trainhook/core/impl/coding.ipp>
#include <trainhook/core/impl/dtype.ipp>
#include <trainhook/core/impl/duration_text.ipp>
#include <trainhook/core/impl/error.ipp>
#include <trainhook/core/impl/format.ipp>
#include <trainhook/core/impl/linkage.ipp>
#include <trainhook/core/impl/log.ipp>
#include <trainhook/core/impl/name_suggestion.ipp>
#include <trainhook/core/impl/random.ipp>
#include <trainhook/core/impl/saveable.ipp>
#include <trainhook/core/impl/shape.ipp>
#include <trainhook/core/impl/tensor.ipp>

#include <trainhook/proto/impl/message_text.ipp>
#include <trainhook/proto/impl/tensor_shape_proto.ipp>
#include <trainhook/proto/impl/text_proto_parser.ipp>
#include <trainhook/proto/impl/text_proto_printer.ipp>
#include <trainhook/proto/impl/wire.ipp>

#include <trainhook/io/impl/crc32c.ipp>
#include <trainhook/io/impl/file_system.ipp>
#include <trainhook/io/impl/path.ipp>
#include <trainhook/io/impl/posix_file_system.ipp>
#include <trainhook/io/impl/record_reader.ipp>
#include <trainhook/io/impl/record_writer.ipp>
#include <trainhook/io/impl/table_format.ipp>
#include <trainhook/io/impl/table_reader.ipp>
#include <trainhook/io/impl/table_writer.ipp>
#include <trainhook/io/impl/whole_file.ipp>

#include <trainhook/events/impl/event_file.ipp>
#include <trainhook/events/impl/event_message.ipp>
#include <trainhook/events/impl/event_queue.ipp>
#include <trainhook/events/impl/event_reader.ipp>
#include <trainhook/events/impl/file_writer.ipp>
#include <trainhook/events/impl/file_writer_cache.ipp>
#include <trainhook/events/impl/histogram.ipp>
#include <trainhook/events/impl/histogram_buckets.ipp>
#include <trainhook/events/impl/histogram_source.ipp>
#include <trainhook/events/impl/summary.ipp>
#include <trainhook/events/impl/summary_message.ipp>
#include <trainhook/events/impl/summary_reader.ipp>
#include <trainhook/events/impl/tensor_summary.ipp>

#include <trainhook/graph/impl/global_step.ipp>
#include <trainhook/graph/impl/gradient_registry.ipp>
#include <trainhook/graph/impl/gradients.ipp>
#include <trainhook/graph/impl/graph.ipp>
#include <trainhook/graph/impl/initializers.ipp>
#include <trainhook/graph/impl/layers.ipp>
#include <trainhook/graph/impl/learning_rate_schedules.ipp>
#include <trainhook/graph/impl/moving_averages.ipp>
#include <trainhook/graph/impl/node.ipp>
#include <trainhook/graph/impl/op_builder.ipp>
#include <trainhook/graph/impl/op_def.ipp>
#include <trainhook/graph/impl/operand.ipp>
#include <trainhook/graph/impl/optimizers.ipp>
#include <trainhook/graph/impl/variable.ipp>

#include <trainhook/graph/ops/impl/array.ipp>
#include <trainhook/graph/ops/impl/clip.ipp>
#include <trainhook/graph/ops/impl/constant.ipp>
#include <trainhook/graph/ops/impl/control_flow.ipp>
#include <trainhook/graph/ops/impl/conv.ipp>
#include <trainhook/graph/ops/impl/join.ipp>
#include <trainhook/graph/ops/impl/math.ipp>
#include <trainhook/graph/ops/impl/matrix.ipp>
#include <trainhook/graph/ops/impl/nn.ipp>
#include <trainhook/graph/ops/impl/queue.ipp>
#include <trainhook/graph/ops/impl/random.ipp>
#include <trainhook/graph/ops/impl/registry.ipp>
#include <trainhook/graph/ops/impl/shape_rules.ipp>
#include <trainhook/graph/ops/impl/slice.ipp>
#include <trainhook/graph/ops/impl/state.ipp>
#include <trainhook/graph/ops/impl/strided_slice.ipp>
#include <trainhook/graph/ops/impl/summary.ipp>
#include <trainhook/graph/ops/impl/training.ipp>

#include <trainhook/graph_def/impl/graph_def_reader.ipp>
#include <trainhook/graph_def/impl/graph_def_writer.ipp>
#include <trainhook/graph_def/impl/import_graph_def.ipp>
#include <trainhook/graph_def/impl/import_meta_graph.ipp>
#include <trainhook/graph_def/impl/message_sinks.ipp>
#include <trainhook/graph_def/impl/meta_graph_def.ipp>
#include <trainhook/graph_def/impl/meta_graph_def_reader.ipp>
#include <trainhook/graph_def/impl/node_def.ipp>
#include <trainhook/graph_def/impl/resource_variables.ipp>
#include <trainhook/graph_def/impl/saver_nodes.ipp>
#include <trainhook/graph_def/impl/tensor_proto.ipp>
#include <trainhook/graph_def/impl/tensor_proto_reader.ipp>
#include <trainhook/graph_def/impl/text_to_wire.ipp>

#include <trainhook/session/impl/clean_stop.ipp>
#include <trainhook/session/impl/coordinator.ipp>
#include <trainhook/session/impl/hook_services.ipp>
#include <trainhook/session/impl/looper_thread.ipp>
#include <trainhook/session/impl/queue_runner.ipp>
#include <trainhook/session/impl/session_run_hook.ipp>

#include <trainhook/data/impl/batch.ipp>
#include <trainhook/data/impl/dataset.ipp>
#include <trainhook/data/impl/dataset_iterator.ipp>
#include <trainhook/data/impl/element.ipp>
#include <trainhook/data/impl/file_sources.ipp>
#include <trainhook/data/impl/functional.ipp>
#include <trainhook/data/impl/interleave.ipp>
#include <trainhook/data/impl/iterator.ipp>
#include <trainhook/data/impl/iterator_resource.ipp>
#include <trainhook/data/impl/dataset_node.ipp>
#include <trainhook/data/impl/parallel_map.ipp>
#include <trainhook/data/impl/prefetch.ipp>
#include <trainhook/data/impl/selection.ipp>
#include <trainhook/data/impl/shuffle.ipp>
#include <trainhook/data/impl/sources.ipp>
#include <trainhook/data/impl/iterator_state.ipp>

#include <trainhook/loop/impl/bound_state.ipp>
#include <trainhook/loop/impl/loop_iterator.ipp>
#include <trainhook/loop/impl/loop_session.ipp>
#include <trainhook/loop/impl/memory_layout.ipp>
#include <trainhook/loop/impl/state_binding.ipp>
#include <trainhook/loop/impl/variable_binding.ipp>
#include <trainhook/loop/impl/variable_memory.ipp>

#include <trainhook/checkpoint/impl/background_writer.ipp>
#include <trainhook/checkpoint/impl/bundle_cleanup.ipp>
#include <trainhook/checkpoint/impl/bundle_reader.ipp>
#include <trainhook/checkpoint/impl/bundle_writer.ipp>
#include <trainhook/checkpoint/impl/checkpoint_claim.ipp>
#include <trainhook/checkpoint/impl/checkpoint_files.ipp>
#include <trainhook/checkpoint/impl/checkpoint_state.ipp>
#include <trainhook/checkpoint/impl/input_checkpoints.ipp>
#include <trainhook/checkpoint/impl/iterator_saveable.ipp>
#include <trainhook/checkpoint/impl/object_graph_keys.ipp>
#include <trainhook/checkpoint/impl/retention.ipp>
#include <trainhook/checkpoint/impl/saver.ipp>
#include <trainhook/checkpoint/impl/slice_key.ipp>
#include <trainhook/checkpoint/impl/tensor_bundle_format.ipp>
#include <trainhook/checkpoint/impl/tensor_slice.ipp>

#include <trainhook/hooks/impl/async_checkpoint_saver_hook.ipp>
#include <trainhook/hooks/impl/checkpoint_input_pipeline_hook.ipp>
#include <trainhook/hooks/impl/checkpoint_job.ipp>
#include <trainhook/hooks/impl/checkpoint_saver_hook.ipp>
#include <trainhook/hooks/impl/checkpoint_saver_listener.ipp>
#include <trainhook/hooks/impl/feed_fn_hook.ipp>
#include <trainhook/hooks/impl/fetch_refs.ipp>
#include <trainhook/hooks/impl/final_ops_hook.ipp>
#include <trainhook/hooks/impl/global_step_waiter_hook.ipp>
#include <trainhook/hooks/impl/graph_export.ipp>
#include <trainhook/hooks/impl/logging_tensor_hook.ipp>
#include <trainhook/hooks/impl/nan_tensor_hook.ipp>
#include <trainhook/hooks/impl/profiler_hook.ipp>
#include <trainhook/hooks/impl/progress_hook.ipp>
#include <trainhook/hooks/impl/progress_line.ipp>
#include <trainhook/hooks/impl/scaffold.ipp>
#include <trainhook/hooks/impl/second_or_step_timer.ipp>
#include <trainhook/hooks/impl/step_counter_hook.ipp>
#include <trainhook/hooks/impl/stop_at_step_hook.ipp>
#include <trainhook/hooks/impl/summary_saver_hook.ipp>
#include <trainhook/hooks/impl/tensor_text.ipp>
#include <trainhook/hooks/impl/timeline.ipp>

#include <trainhook/monitored/impl/chief_session_creator.ipp>
#include <trainhook/monitored/impl/coordinated_session.ipp>
#include <trainhook/monitored/impl/hook_states.ipp>
#include <trainhook/monitored/impl/hooked_session.ipp>
#include <trainhook/monitored/impl/local_master.ipp>
#include <trainhook/monitored/impl/monitored_training_session.ipp>
#include <trainhook/monitored/impl/recoverable_session.ipp>
#include <trainhook/monitored/impl/session_creator.ipp>
#include <trainhook/monitored/impl/session_lifecycle.ipp>
#include <trainhook/monitored/impl/session_manager.ipp>
#include <trainhook/monitored/impl/singular_monitored_session.ipp>
#include <trainhook/monitored/impl/worker_session_creator.ipp>

#include <trainhook/testing/impl/faulty_file_system.ipp>
#include <trainhook/testing/impl/log_lines.ipp>
#include <trainhook/testing/impl/manual_clock.ipp>
#include <trainhook/testing/impl/memory_disk.ipp>
#include <trainhook/testing/impl/memory_file_system.ipp>
#include <trainhook/testing/impl/recording_hook.ipp>
#include <trainhook/testing/impl/recording_listener.ipp>
#include <trainhook/testing/impl/recording_writer.ipp>
#include <trainhook/testing/impl/run_steps.ipp>
#include <trainhook/testing/impl/scripted_session.ipp>
