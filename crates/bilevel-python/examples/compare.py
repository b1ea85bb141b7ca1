"""Learn from pictures, denoise another one, and draw both: `python compare.py`."""

import bilevel
import matplotlib.pyplot as plt

truth = bilevel.phantoms.dead_leaves(5, (64, 64), seed=1)
data = bilevel.add_noise(truth, 0.1, seed=1)

# the last picture is held out: it is not learned from
result = bilevel.learn(truth[:-1], data[:-1], validation=(truth[-1:], data[-1:]))
print(result)
denoised = result.apply(data[-1])

figure, axes = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
pictures = {"truth": truth[-1], "data": data[-1], "denoised": denoised}
for axis, (name, picture) in zip(axes, pictures.items()):
    axis.imshow(picture, cmap="gray", vmin=0, vmax=1)
    axis.set_title(
        name if name == "truth" else f"{name}: {bilevel.psnr(picture, truth[-1]):.1f} dB"
    )
    axis.axis("off")
figure.savefig("compare.png")
