from tiltyard.benchmarks.claims.scaf_grpo import AS_MANY, AT_ONCE, CLAIM, WHOLE


def test_hints_take_more_completions_than_grpo_and_beside_the_point_decide_nothing() -> None:
    found = CLAIM.smallest().measure()
    sampled = found.details["completions sampled"]
    assert sampled["grpo"] == 10 * 8 * 8
    assert sampled[AS_MANY] == 10 * 8 * 10
    assert sampled["scaf-grpo"] == sampled["grpo"] < sampled[AT_ONCE]  # ten iterations are exempt
    assert {name for name, part in found.parts.items() if part.decides} == {"over grpo", f"over {AS_MANY}"}
    assert {f"over {AT_ONCE}", f"over {WHOLE}"} < found.parts.keys()
