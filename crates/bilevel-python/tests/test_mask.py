"""Masks for magnetic resonance imaging."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import bilevel
import numpy as np
import pytest
from numpy.typing import NDArray

HEADS = bilevel.phantoms.heads(4, (16, 16), seed=2)
KSPACE = np.fft.fft2(HEADS, norm="ortho")
# the maps of two coils
MAPS = np.stack([np.full((16, 16), 0.6 + 0.1j), np.full((16, 16), 0.5 - 0.2j)])


def learned(kspace: NDArray[Any], **settings: Any) -> bilevel.MaskResult:
    return bilevel.learn_mask(
        kspace, **({"centre": 2, "noise": 0.02, "max_exchanges": 3} | settings)
    )


def rms(difference: NDArray[Any]) -> float:
    return float(np.sqrt(np.mean(np.abs(difference) ** 2)))


def test_a_mask_is_learned_saved_and_applied(tmp_path: Path) -> None:
    events: list[tuple[int, int, int, float]] = []
    result = learned(KSPACE, callback=lambda *event: events.append(event))
    assert result.mask.shape == (16, 16)
    assert result.indices.tolist() == np.flatnonzero(result.mask[0]).tolist()
    assert len(result.indices) == 4
    assert {0, 15} <= set(result.indices.tolist())
    assert result.is_complete
    assert result.alpha > 0
    assert result.objective[0] <= result.objective[1]
    assert events[-1][1:3] == (4, 4)
    rows = result.compare()
    assert rows[0]["mask"] == "learned"
    assert rows[0]["psnr_inside"] > rows[-1]["psnr_inside"]
    assert "4 lines" in repr(result)
    assert any("held-out slice" in finding for finding in result.findings)

    exact = result.reconstruct(KSPACE, accuracy=1e-8)
    made = result.reconstruct(KSPACE * result.mask, accuracy=1e-2)
    assert rms(made.image - exact.image) <= made.error_bound + exact.error_bound
    assert np.asarray(made).shape == (4, 16, 16)

    path = tmp_path / "mask.json"
    result.save(path)
    again = bilevel.load_mask(path)
    assert again.mask.tolist() == result.mask.tolist()
    assert again.reconstruct(KSPACE[0]).image.shape == (16, 16)
    path.write_text("{}")
    with pytest.raises(ValueError, match=r"MaskResult\.save"):
        bilevel.load_mask(path)


def test_both_orders_give_the_same_pictures() -> None:
    middle = np.fft.fftshift(KSPACE, axes=(-2, -1))
    first, other = learned(KSPACE), learned(middle)
    assert np.array_equal(np.fft.fftshift(first.mask), other.mask)
    pictures = [first.reconstruct(KSPACE).image, other.reconstruct(middle).image]
    assert rms(np.fft.fftshift(pictures[0], axes=(-2, -1)) - pictures[1]) < 1e-6


def test_several_coils() -> None:
    kspace = np.fft.fft2(HEADS[:, None] * MAPS, norm="ortho")
    result = learned(kspace, coils=MAPS)
    made = result.reconstruct(kspace, coils=MAPS)
    assert made.image.shape == (4, 16, 16)
    assert rms(made.image - HEADS) < 0.6 * rms(HEADS)
    with pytest.raises(ValueError, match="sensitivity maps"):
        learned(kspace)
    with pytest.raises(ValueError, match=r"\[2, 16, 16\]"):
        learned(kspace, coils=MAPS[:1])


def test_points_and_relaxation() -> None:
    points = learned(KSPACE, pattern="points", hold_out=0)
    assert points.indices.shape == (64, 2)
    assert any("20 or more" in finding for finding in points.findings)
    relaxed = learned(KSPACE, method="relax")
    assert any("Rounding" in finding for finding in relaxed.findings)


def test_filters(tmp_path: Path) -> None:
    result = learned(KSPACE, model="filters")
    weights = result.filter_weights
    assert weights is not None
    assert weights.shape == (8,)
    assert (weights > 0).all()
    assert learned(KSPACE).filter_weights is None
    exact = result.reconstruct(KSPACE, accuracy=1e-8)
    made = result.reconstruct(KSPACE * result.mask, accuracy=1e-2)
    assert 0 < rms(made.image - exact.image) <= made.error_bound + exact.error_bound
    path = tmp_path / "mask.json"
    result.save(path)
    again = bilevel.load_mask(path).reconstruct(KSPACE, accuracy=1e-2)
    assert np.array_equal(made.image, again.image)
    # another regulariser gives other pictures
    outcome = json.loads(path.read_text())
    outcome["filters"] = []
    path.write_text(json.dumps(outcome))
    other = bilevel.load_mask(path).reconstruct(KSPACE, accuracy=1e-8)
    assert rms(other.image - exact.image) > other.error_bound + exact.error_bound
    larger = learned(KSPACE, model="filters", filters="dct5", max_exchanges=1)
    assert larger.filter_weights is not None
    assert larger.filter_weights.shape == (24,)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "wavelets"}, "model"),
        ({"filters": "dct3"}, "model='filters'"),
        ({"model": "filters", "filters": "learned3"}, "filters"),
        ({"budget": 0.0}, "share of all frequencies"),
        ({"budget": 1.5}, "share of all frequencies"),
        ({"budget": float("nan")}, "share of all frequencies|finite|number"),
        ({"centre": 9}, "centre alone has 9"),
        ({"hold_out": 4}, "left to learn from"),
        ({"pattern": "spirals"}, "pattern"),
        ({"noise": -1.0}, "noise"),
        ({"frequency_zero": "last"}, "frequency_zero"),
    ],
)
def test_bad_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        learned(KSPACE, **settings)


def test_bad_arrays() -> None:
    with pytest.raises(TypeError, match="complex"):
        learned(np.abs(KSPACE))
    bad = KSPACE.copy()
    bad[1, 2, 3] = np.nan
    with pytest.raises(ValueError, match=r"\[1, 2, 3\] of the array of frequencies"):
        learned(bad)
    with pytest.raises(ValueError, match="slice 2 is zero"):
        learned(KSPACE * np.array([1, 1, 0, 1]).reshape(4, 1, 1), noise=0.0)
    with pytest.raises(ValueError, match="at least one"):
        learned(KSPACE[:0])
    result = learned(KSPACE)
    with pytest.raises(ValueError, match="12 lines"):
        result.reconstruct(np.ones((16, 12), dtype=complex))


def test_an_exception_of_the_callback_ends_learning() -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        learned(KSPACE, callback=fail)


def test_ctrl_c_keeps_the_best_mask() -> None:
    def interrupt(count: int, *_: Any) -> None:
        if count == 3:
            raise KeyboardInterrupt

    with pytest.warns(RuntimeWarning, match="best mask so far"):
        result = learned(KSPACE, callback=interrupt)
    assert not result.is_complete
    assert result.mask.any()
