"""Which tests `make test` runs, and which are left to `make test-all`.

`make test` tells a contributor in a few minutes that the product works: what decides what a function, a record or a
card says, and of every other promise a case or two. The rest is run by CI: each page, kernel, container, hostile text,
time limit and damaged disk.
"""

from __future__ import annotations

from collections.abc import Iterable

HEAVY = ("browser", "kernel", "docker", "slow")
"""Tests with one of these marks are left to `make test-all`, unless they are in `SMOKE`."""

SMOKE = (
    # kernels
    "tests/acceptance/test_examples.py::test_an_example_runs_without_a_key_and_finds_its_known_answers[code_mode]",
    "tests/acceptance/test_examples.py::test_an_example_runs_without_a_key_and_finds_its_known_answers[csv_processing]",
    "tests/lab/test_real_page.py::test_a_job_is_followed_to_its_end",
    "tests/magics/codemode/test_kernel.py::test_run_all_twice_asks_the_model_once_and_announces_once",
    "tests/magics/test_real_kernel.py::test_a_cell_binds_a_function_that_works",
    "tests/magics/test_real_kernel.py::test_a_headless_cell_waits_and_the_next_run_is_replayed",
    "tests/magics/test_real_kernel.py::test_cancel_ends_the_job_and_the_result_says_so",
    "tests/magics/test_real_kernel.py::test_the_extension_loads_nothing_heavy",
    # pages
    "tests/browser/test_lab.py::test_a_person_sees_the_model_write_and_every_test_report",
    "tests/browser/test_panel.py::test_a_job_is_followed_from_its_cell_to_the_exported_script",
    # containers
    "tests/sandbox/any_sandbox/test_conformance.py::test_a_frame_goes_in_and_comes_out[docker]",
    "tests/sandbox/any_sandbox/test_conformance.py::test_an_endless_program_is_stopped_in_time[docker]",
    "tests/sandbox/any_sandbox/test_hostile_programs.py::test_a_file_of_the_user_cannot_be_read[docker",
    "tests/sandbox/any_sandbox/test_hostile_programs.py::test_no_socket_of_this_machine_is_reached[docker",
    # how a function may be split
    "tests/engine/test_splitting.py::test_a_large_number_that_is_no_limit_does_not_count[df[df.amount < 1e6]]",
    "tests/engine/test_splitting.py::test_a_number_that_no_table_reaches_is_a_limit_all_the_same[df.head(10**5)]",
    "tests/engine/test_splitting.py::test_the_freest_kind_that_holds_is_found[a ",
    "tests/engine/test_splitting.py::test_what_another_number_of_rows_changes_may_not_be_split[df.assign(x=1)]",
    "tests/engine/test_trapped_splits.py::test_a_trap_in_a_late_file_gives_no_other_answer[a closed one anywhere]",
    "tests/engine/test_trapped_splits.py::test_a_trap_in_a_late_file_gives_no_other_answer[strip and lower]",
    "tests/engine/test_trapped_splits.py::test_a_trap_in_a_late_file_gives_no_other_answer[whole days]",
    # the process of models
    "tests/models/test_process.py::test_a_cancel_hangs_up_and_counts_what_came",
    "tests/models/test_process.py::test_a_process_that_ended_is_replaced_and_nobody_notices",
    "tests/models/test_process.py::test_an_answer_comes_in_pieces_while_it_is_written",
    "tests/models/test_process.py::test_errors_are_the_same_with_cause_and_hint",
    "tests/models/test_process.py::test_a_question_that_nobody_follows_is_cancelled",
    "tests/models/test_process.py::test_the_budget_allows_each_request_and_is_charged",
    # others that start processes of their own, or take long
    "tests/concurrency/test_syncified.py",
    "tests/data/test_value_drift.py",
    "tests/evaluate/test_trial.py::test_a_score_says_what_is_right_and_which_stage_failed",
    "tests/readers/test_readers.py::test_every_function_that_reads_is_on_the_list",
    "tests/test_api_page.py::test_the_page_names_what_is_public_and_nothing_else",
    "tests/test_record.py::test_a_changed_prompt_gets_its_recorded_answer_and_the_rest_stays_as_it_is",
    "tests/view/test_html.py",
    "tests/wheel/test_wheel.py::test_it_holds_the_package_and_the_extension_and_nothing_of_the_machine",
)
"""Tests of `make test` although they have one of these marks: two or three for each promise."""

EXTENDED = (
    # damaged environments, full disks, and libraries that are built or installed
    "tests/engine/test_damage.py",
    "tests/engine/test_full_disk.py",
    "tests/engine/test_geography.py::test_a_geodataframe_is_a_sample_an_argument_and_an_output",
    "tests/engine/test_parts.py::test_they_cross_are_shown_called_kept_compared_and_exported",
    "tests/tasks/test_package.py::test_its_tests_pass_and_its_command_line_runs_in_the_folder",
    "tests/tasks/test_package.py::test_schemas_of_the_author_are_a_part_of_the_package",
    "tests/tasks/test_package.py::test_tests_of_a_picture_pass_in_the_package",
    "tests/tasks/test_export.py::test_exported_tests_of_a_picture_pass_in_the_exported_folder",
    "tests/tasks/test_flyte_task.py::test_a_cluster_finds_the_task_in_the_variable_of_its_script",
    "tests/wheel/test_declared.py",
    "tests/wheel/test_quickstart.py",
    # kills, cancels and limits of time at every stage; each has its case in the tests of its own room
    "tests/acceptance/test_cancel_everywhere.py",
    "tests/codemode/test_limits.py::test_a_block_that_wants_too_much_is_stopped",
    "tests/codemode/test_limits.py::test_a_value_too_large_for_the_sandbox_is_refused",
    "tests/codemode/test_limits.py::test_many_values_that_end_the_sandbox_together",
    "tests/codemode/test_limits.py::test_no_call_begins_after_a_cancel",
    "tests/engine/test_request_lock.py::test_a_generation_beside_a_stopped_kernel",
    "tests/engine/test_request_lock.py::test_a_kernel_",
    "tests/engine/test_request_lock.py::test_a_killed_kernel",
    "tests/engine/test_request_lock.py::test_a_stopped_kernel",
    "tests/engine/test_early_tests.py::test_a_test_runs_while_the_next_one_is_written",
    "tests/engines/claude/test_agent_limits.py",
    "tests/models/test_answer_limits.py::test_an_answer_that_comes_word_by_word",
    "tests/sandbox/worker/test_calls.py::test_an_end_in_the_middle_of_a_call_is_a_crash",
    "tests/test_result_local.py::test_three_hundred_calls_at_once_all_succeed",
    "tests/engine/test_demanded_split.py::test_a_function_that_may_not_be_split_as_demanded_is_mended",
    "tests/engine/test_sandbox_session.py::test_what_a_test_says_tells_nothing_of_the_runs_on_the_data",
    "tests/engine/test_splitting.py::test_a_piece_has_its_part_of_a_range",
    # the threads of the notebook, for each hostile answer
    "tests/codemode/test_leaving.py::test_keys_of_the_same_hash",
    "tests/codemode/test_inference.py::test_a_program_sees_the_same_of_tables",
    "tests/codemode/test_operations.py::test_a_join",
    "tests/codemode/test_operations.py::test_no_operation_on_many_rows",
    "tests/codemode/test_operations.py::test_values_of_one_hash",
    "tests/sandbox/any_sandbox/test_commands.py::test_who_comes_after_a_command_that_does_harm",
    "tests/sandbox/any_sandbox/test_freezes.py",
    "tests/sandbox/any_sandbox/test_held_memory.py",
    # other tiers of the sandbox, and what the engine is found by
    "tests/sandbox/docker/test_detection.py",
    "tests/sandbox/docker/test_products.py::test_what_runs_is_found_where_it_listens",
    "tests/sandbox/local/test_container_memory.py",
    "tests/sandbox/local/test_forks.py",
    "tests/sandbox/local/test_shortage.py::test_a_worker_that_the_system_refuses",
    # a terminal session
    "tests/magics/test_real_kernel.py::test_a_terminal_session",
    # whole days of use, and the listings of documentation
    "tests/acceptance/test_defects_of_the_reference.py::test_a_result_never_uses_a_later_sample",
    "tests/acceptance/test_defects_of_the_reference.py::test_the_limits_of_a_generation",
    "tests/engines/claude/test_agent.py::test_a_broken_contract_is_told",
    "tests/engines/claude/test_agent.py::test_a_cancelled_session",
    "tests/engines/claude/test_agent.py::test_an_agent_that_tries_to_escape",
    "tests/engines/claude/test_agent_files.py::test_a_module_beside_the_function",
    "tests/test_coming_from_flyte.py::test_a_file_is_taken",
    "tests/test_coming_from_flyte.py::test_examples_of_a_request_take_data",
    "tests/test_coming_from_flyte.py::test_a_task_that_does_not_await",
    "tests/test_listings_of_flyte.py",
    "tests/test_module.py::test_a_script_imports_a_function",
    "tests/test_module.py::test_importing_runs_no_code",
    # tables of other libraries, and pieces in other processes
    "tests/scaling/test_contract.py::test_a_demanded_split_is_used",
    "tests/scaling/test_contract.py::test_a_split_is_found_in_the_sandbox_and_kept",
    "tests/scaling/test_contract.py::test_each_table_is_checked",
    "tests/scaling/test_contract.py::test_the_table_with_the_most_rows",
    "tests/scaling/test_data_of_flyte.py::test_a_f",
    "tests/scaling/test_left_in_memory.py::test_a_call_keeps_neither",
    "tests/scaling/test_left_in_memory.py::test_pieces_are_free",
    "tests/scaling/test_map.py::test_a_chunk_ends_when_its_time_is_short",
    "tests/scaling/test_map.py::test_a_time_limit_is_that_of_each_item",
    "tests/scaling/test_map.py::test_an_executor_carries",
    "tests/scaling/test_map.py::test_an_item_that_cannot_be_sent_leaves",
    "tests/scaling/test_map.py::test_paths_are_those_of_the_caller",
    "tests/scaling/test_over.py::test_a_file_outside_the_folders",
    "tests/scaling/test_over.py::test_a_fixed_table_is_never",
    "tests/scaling/test_over.py::test_a_range_with_a_name",
    "tests/scaling/test_over.py::test_each_piece_has_the_categories",
    "tests/scaling/test_rare_rows.py::test_a_condition_in_the_three_hundredth",
    "tests/scaling/test_rare_rows.py::test_rare_values_of_a_right_function",
    "tests/scaling/test_sources.py::test_an_index_of_the_answer_may_have",
    "tests/scaling/test_sources.py::test_categories_inside_lists",
    # long chains of questions, of which others try each link
    "tests/codemode/test_inference.py::test_any_chain_of_operations",
    "tests/codemode/test_journal.py::test_a_damaged_line",
    "tests/codemode/test_reference_cases.py",
    "tests/codemode/test_strangers_record.py::test_recorded_code_calls_no_such_tool",
    "tests/engine/test_first_run.py::test_a_chart_is_seen",
    "tests/engine/test_first_run.py::test_code_that_needs_another_package",
    "tests/engine/test_first_run.py::test_recorded_answers_wait",
    "tests/engine/test_mutation.py::test_a_function_stays_verified_if_no_tests_can_be_added",
    "tests/engine/test_mutation.py::test_tests_that_the_end_of_the_time_cuts",
    "tests/engine/test_recorded_locks.py::test_packages_of_an_own_lock",
    "tests/engine/test_second_opinion.py::test_an_opinion_that_does_not_come",
    "tests/engine/test_sizes.py::test_a_branch_for_many_rows",
    "tests/engine/test_splitting.py::test_a_piece_has_its_part_of_a_range",
    "tests/engine/test_splitting.py::test_whether_the_order_of_rows_counts",
)
"""Further tests, or whole files, that are left to `make test-all`, because they take long for what they add."""


def is_extended(node_id: str, marks: Iterable[str]) -> bool:
    """Whether a test is left to `make test-all`."""
    if node_id.startswith(SMOKE):
        return False
    return not set(HEAVY).isdisjoint(marks) or node_id.startswith(EXTENDED)
