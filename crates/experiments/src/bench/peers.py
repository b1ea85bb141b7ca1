"""Measures the peers on the jobs of the benchmark.

Usage: peers.py JOB DATA. JOB is a JSON file, DATA a directory of arrays. Prints one line of JSON.
"""

import json
import sys
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")


def fastest(work, seconds):
    """Return the seconds of the fastest of at least three calls."""
    begin, best, calls = time.perf_counter(), float("inf"), 0
    while calls < 3 or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
        calls += 1
    return best


# The models: value, gradient, strong convexity and smoothness of
# 1/2 |Ax - y|^2_S + alpha TV_nu(x) + xi/2 |x|^2.


def image_model(y, alpha, nu, xi):
    """Denoising of an image, with backward differences that are 0 in the first row and column."""

    def gradient(x):
        down = np.diff(x, axis=0, prepend=x[:1])
        right = np.diff(x, axis=1, prepend=x[:, :1])
        sigma = np.sqrt(down**2 + right**2 + nu**2)
        p, q = down / sigma, right / sigma
        flux = p + q
        flux[:-1] -= p[1:]
        flux[:, :-1] -= q[:, 1:]
        return x - y + alpha * flux + xi * x

    def value(x):
        down = np.diff(x, axis=0, prepend=x[:1])
        right = np.diff(x, axis=1, prepend=x[:, :1])
        variation = np.sqrt(down**2 + right**2 + nu**2).sum()
        return 0.5 * ((x - y) ** 2).sum() + alpha * variation + 0.5 * xi * (x**2).sum()

    return value, gradient, 1 + xi, 1 + 8 * alpha / nu + xi


def line_flux(x, nu):
    """Return the gradient of the variation of a line, with a zero to its left, and its terms."""
    d = np.diff(x, prepend=0)
    sigma = np.sqrt(d.real**2 + d.imag**2 + nu**2) if np.iscomplexobj(d) else np.sqrt(d**2 + nu**2)
    p = d / sigma
    flux = p.copy()
    flux[:-1] -= p[1:]
    return flux, sigma


def line_model(y, alpha, nu, xi):
    def gradient(x):
        return x - y + alpha * line_flux(x, nu)[0] + xi * x

    def value(x):
        return (
            0.5 * ((x - y) ** 2).sum() + alpha * line_flux(x, nu)[1].sum() + 0.5 * xi * (x**2).sum()
        )

    return value, gradient, 1 + xi, 1 + 4 * alpha / nu + xi


def sampling_model(y, s, alpha, nu, xi):
    """Reconstruction of a complex line from Fourier coefficients with weights s."""

    def gradient(x):
        data = np.fft.ifft(s * (np.fft.fft(x, norm="ortho") - y), norm="ortho")
        return data + alpha * line_flux(x, nu)[0] + xi * x

    def value(x):
        misfit = np.fft.fft(x, norm="ortho") - y
        size = 0.5 * xi * (np.abs(x) ** 2).sum()
        return 0.5 * (s * np.abs(misfit) ** 2).sum() + alpha * line_flux(x, nu)[1].sum() + size

    return value, gradient, s.min() + xi, s.max() + 4 * alpha / nu + xi


def parameters(job, name):
    return job[name]["alpha"], job[name]["nu"], job[name]["xi"]


# Kernels.


def iterate(gradient, start, step, iterations, beta=0.8):
    """Run FISTA with a constant extrapolation; return the squared norm of the last gradient."""
    x, z = start, start
    g, norm = gradient(z), 0.0
    for _ in range(iterations):
        new = z - step * g
        z = new + beta * (new - x)
        x = new
        g = gradient(z)
        norm = (g * g).sum()
    return norm


def descend(gradient, start, step, iterations):
    x = start
    g, norm = gradient(x), 0.0
    for _ in range(iterations):
        x = x - step * g
        g = gradient(x)
        norm = (g * g).sum()
    return norm


def kernels(job, read):
    seconds = job["seconds"]
    y = read("image").reshape(job["side"], job["side"])
    _, gradient, _, lipschitz = image_model(y, *parameters(job, "image"))
    image = {
        "norm": iterate(gradient, y, 1 / lipschitz, 10),
        "fista": fastest(lambda: iterate(gradient, y, 1 / lipschitz, 3), seconds) / 4,
        "descent": fastest(lambda: descend(gradient, y, 1 / lipschitz, 3), seconds) / 4,
    }
    y = read("lines").reshape(-1, job["length"])[0]
    _, gradient, _, lipschitz = line_model(y, *parameters(job, "line"))
    line = {
        "norm": iterate(gradient, y, 1 / lipschitz, 10),
        "fista": fastest(lambda: iterate(gradient, y, 1 / lipschitz, 99), seconds) / 100,
    }
    y = read("frequencies").view(complex)
    _, gradient, _, _ = sampling_model(y, read("even"), *parameters(job, "sampling"))
    sampling = {
        "norm": (np.abs(gradient(y)) ** 2).sum(),
        "gradient": fastest(lambda: [gradient(y) for _ in range(100)], seconds) / 100,
    }
    return {"image": image, "line": line, "sampling": sampling}


# Whole solves.


class Reached(Exception):
    pass


def lbfgs(model, start, error):
    """Run L-BFGS-B until the gradient certifies the error, like our solver.

    Return whether it does."""
    from scipy.optimize import minimize

    value, gradient, mu, _ = model
    is_complex, shape = np.iscomplexobj(start), start.shape

    def function(flat):
        x = (flat.view(complex) if is_complex else flat).reshape(shape)
        g = gradient(x).ravel()
        g = g.view(float) if is_complex else g
        if np.sqrt(g @ g) <= mu * error:
            raise Reached
        return value(x), g

    options = {"maxcor": 10, "ftol": 0.0, "gtol": 0.0, "maxiter": 10**6, "maxfun": 10**6}
    flat = start.ravel()
    flat = flat.view(float) if is_complex else flat
    try:
        minimize(function, flat.copy(), jac=True, method="L-BFGS-B", options=options)
    except Reached:
        return True
    return False


def timed(model, start, error, seconds):
    """Return the seconds of a solve, or None if it does not reach the error."""
    if not lbfgs(model, start, error):
        return None
    return fastest(lambda: lbfgs(model, start, error), seconds)


def solve(job, read):
    from skimage.restoration import denoise_tv_chambolle

    seconds, answer = job["seconds"], {}
    y = read("image").reshape(job["side"], job["side"])
    model = image_model(y, *parameters(job, "image"))
    answer["image"] = timed(model, y, job["image_error"], seconds)
    alpha = job["image"]["alpha"]
    answer["chambolle"] = fastest(lambda: denoise_tv_chambolle(y, weight=alpha), seconds)

    def accurate():
        return denoise_tv_chambolle(y, weight=alpha, eps=1e-6, max_num_iter=10000)

    answer["chambolle_accurate"] = fastest(accurate, seconds)

    lines = read("lines").reshape(-1, job["length"])
    for alpha in job["alphas"]:
        nu, xi = job["line"]["nu"], job["line"]["xi"]
        times = [
            timed(line_model(y, alpha, nu, xi), y, job["line_error"], seconds / 20)
            for y in lines[: job["num_lines"]]
        ]
        answer[f"line {alpha}"] = None if None in times else sum(times) / len(times)

    y = read("frequencies").view(complex)
    for name in ["even", "sparse"]:
        model = sampling_model(y, read(name), *parameters(job, "sampling"))
        start = np.fft.ifft(y, norm="ortho")
        answer[name] = timed(model, start, job["sampling_error"], seconds)
    return answer


# Derivative-free least squares.


def rosenbrock(x):
    return np.array([10 * (x[1] - x[0] ** 2), 1 - x[0]])


def chained(x):
    return np.concatenate([10 * (x[1:] - x[:-1] ** 2), 1 - x[:-1]])


def exponentials(x):
    t = np.arange(30) / 10
    return x[0] * np.exp(-x[1] * t) + x[2] - (2 * np.exp(-1.5 * t) + 0.5)


PROBLEMS = {"rosenbrock": rosenbrock, "chained": chained, "exponentials": exponentials}


def least_squares(job, _):
    import dfols

    answer = {}
    for name, problem in job["problems"].items():
        residuals, best = PROBLEMS[name], None
        for _ in range(job["repetitions"]):
            record = {"calls": 0, "inside": 0.0, "solved": None}

            def function(x):
                begin = time.perf_counter()
                r = residuals(x)
                record["calls"] += 1
                if record["solved"] is None and r @ r <= problem["target"]:
                    record["solved"] = record["calls"]
                record["inside"] += time.perf_counter() - begin
                return r

            begin = time.perf_counter()
            dfols.solve(function, np.array(problem["start"]), maxfun=problem["budget"])
            outside = time.perf_counter() - begin - record["inside"]
            record["overhead"] = outside / record["calls"]
            if best is None or record["overhead"] < best["overhead"]:
                best = record
        answer[name] = {"solved": best["solved"], "overhead": best["overhead"]}
    return answer


# Reconstruction of pictures.


def made(methods):
    """Run each method, write the results, and return the processor times."""
    answer = {}
    for name, method in methods.items():
        begin = time.process_time()
        x = method()
        answer[name] = time.process_time() - begin
        np.ascontiguousarray(x, dtype="<f8").tofile(f"{sys.argv[2]}/made by {name}.f64")
    return answer


def psnr(x, truth):
    return -10 * np.log10(np.mean((x - truth) ** 2))


def pictures(job, _read):
    """Write the middles of pictures of scikit-image, and return their names."""
    from skimage import color, data

    side, found = job["side"], []
    for name in ["camera", "astronaut", "chelsea", "coffee", "rocket"]:
        try:
            picture = getattr(data, name)()
        except Exception:
            continue  # it would have to be downloaded
        grey = picture / 255.0 if picture.ndim == 2 else color.rgb2gray(picture)
        top, left = (grey.shape[0] - side) // 2, (grey.shape[1] - side) // 2
        middle = np.ascontiguousarray(grey[top : top + side, left : left + side], dtype="<f8")
        middle.tofile(f"{sys.argv[2]}/{name}.f64")
        found.append(name)
    return found


def denoise(job, read):
    """Denoise one picture by several methods."""
    import bm3d
    from skimage import restoration

    sigma = job["sigma"]
    noisy = read("data").reshape(job["side"], job["side"])
    return made(
        {
            "BM3D": lambda: bm3d.bm3d(noisy, sigma),
            "non-local means": lambda: restoration.denoise_nl_means(
                noisy, patch_size=5, patch_distance=6, h=0.8 * sigma, sigma=sigma, fast_mode=True
            ),
            "wavelets": lambda: restoration.denoise_wavelet(
                noisy, sigma=sigma, method="BayesShrink", mode="soft", rescale_sigma=False
            ),
        }
    )


def calibrate(job, read):
    """Calibrate denoisers on one picture without truth, and denoise it."""
    from skimage import restoration

    noisy = read("data").reshape(job["side"], job["side"])
    # the grids of scikit-image's example of calibrate_denoiser
    grids = {
        "calibrated TV": (restoration.denoise_tv_chambolle, {"weight": np.arange(0.01, 0.3, 0.02)}),
        "calibrated wavelets": (
            restoration.denoise_wavelet,
            {"sigma": np.arange(0.02, 0.3, 0.02), "rescale_sigma": [True]},
        ),
    }

    def calibrated(denoiser, grid):
        return restoration.calibrate_denoiser(noisy, denoiser, denoise_parameters=grid)(noisy)

    return made({name: lambda pair=pair: calibrated(*pair) for name, pair in grids.items()})


def deblur(job, read):
    """Deblur one picture, as a user calls scikit-image and in its favour.

    In its favour, the picture is continued by reflection, because both methods treat what lies
    beyond its borders wrongly, and the number of iterations is that with the best PSNR."""
    from skimage.restoration import richardson_lucy, unsupervised_wiener

    side = job["side"]
    blurred, truth = (read(name).reshape(side, side) for name in ["data", "truth"])
    kernel = read("kernel").reshape(job["kernel_shape"])
    margin = 2 * max(kernel.shape)
    inside = (slice(margin, -margin),) * 2
    wide = np.pad(blurred, margin, mode="reflect")
    positive = np.maximum(wide, 0)

    def sharpen(iterations):
        return richardson_lucy(positive, kernel, num_iter=iterations)[inside]

    best = max([5, 10, 15, 20, 30, 50, 80, 120], key=lambda count: psnr(sharpen(count), truth))
    return made(
        {
            "unsupervised Wiener": lambda: unsupervised_wiener(blurred, kernel, rng=0)[0],
            "unsupervised Wiener, continued": lambda: unsupervised_wiener(wide, kernel, rng=0)[0][
                inside
            ],
            "Richardson-Lucy": lambda: richardson_lucy(blurred, kernel),
            "Richardson-Lucy, continued, best": lambda: sharpen(best),
        }
    )


def mri(job, read):
    """Reconstruct a complex picture from some of its frequencies; the results are moduli.

    In favour of SigPy, its weight is that with the best PSNR for this picture."""
    from sigpy.mri.app import TotalVariationRecon

    side = job["side"]
    # SigPy has frequency zero and the origin in the middle
    y = np.fft.fftshift(read("data").view(complex).reshape(1, side, side))
    truth, maps = read("truth").reshape(side, side), np.ones_like(y)

    def reconstruct(weight, iterations):
        app = TotalVariationRecon(y, maps, weight, max_iter=iterations, show_pbar=False)
        return np.abs(np.fft.ifftshift(app.run()))

    def best(iterations):
        weights = [1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1]
        return max(weights, key=lambda weight: psnr(reconstruct(weight, iterations), truth))

    chosen = {count: best(count) for count in [100, 400]}
    return made(
        {
            f"SigPy, {count} iterations": lambda count=count: reconstruct(chosen[count], count)
            for count in chosen
        }
    )


def versions(_job, _read):
    import importlib.metadata as metadata

    import bm3d  # noqa: F401
    import dfols  # noqa: F401
    import pywt  # noqa: F401
    import scipy.optimize  # noqa: F401
    import sigpy.mri  # noqa: F401
    import skimage.restoration  # noqa: F401

    names = ["numpy", "scipy", "scikit-image", "DFO-LS", "bm3d", "sigpy"]
    return ", ".join(f"{name} {metadata.version(name)}" for name in names)


PARTS = {
    "kernels": kernels,
    "solve": solve,
    "least_squares": least_squares,
    "pictures": pictures,
    "denoise": denoise,
    "calibrate": calibrate,
    "deblur": deblur,
    "mri": mri,
    "versions": versions,
}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        job = json.load(file)

    def read(name):
        return np.fromfile(f"{sys.argv[2]}/{name}.f64", dtype="<f8")

    print(json.dumps(PARTS[job["part"]](job, read)))


main()
