/** Exports the whole picture, drawn in light colours, as an SVG or a PNG file. */

const MOST_PIXELS = 8000;

/**
 * Return the picture as a separate document.
 * @param {Lineage} lineage
 * @param {Picture} picture
 * @param {Lit} lit
 * @param {(change: Change) => boolean} isShown
 */
function svgText(lineage, picture, lit, isShown) {
  const canvas = /** @type {SVGSVGElement} */ (svg("svg", { xmlns: SVG, id: "export" }));
  const scene = new Scene(canvas, lineage, isShown);
  scene.show(picture, lit);
  scene.draw({ x: 0, y: 0, scale: 1 }, true);
  const { width, height } = extent(picture);
  canvas.setAttribute("width", String(width));
  canvas.setAttribute("height", String(height));
  canvas.setAttribute("viewBox", `0 0 ${width} ${height}`);
  canvas.setAttribute("class", "light");
  const style = svg("style", {}, null, document.querySelector("style")?.textContent || "");
  canvas.prepend(style, svg("rect", { width, height, fill: "#fff" }));
  return new XMLSerializer().serializeToString(canvas);
}

/** @param {Picture} picture */
function extent(picture) {
  return { width: Math.ceil(Math.max(picture.width, 10)), height: Math.ceil(Math.max(picture.height, 10)) };
}

/** @param {string} name @param {Blob} content */
function download(name, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** @param {string} text */
function downloadSvg(text) {
  download("lineage.svg", new Blob([text], { type: "image/svg+xml" }));
}

/** @param {string} text @param {Picture} picture */
function downloadPng(text, picture) {
  const { width, height } = extent(picture);
  const scale = Math.min(2, MOST_PIXELS / width, MOST_PIXELS / height);
  const image = new Image();
  image.addEventListener("load", () => {
    const canvas = document.createElement("canvas");
    canvas.width = Math.ceil(width * scale);
    canvas.height = Math.ceil(height * scale);
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => blob && download("lineage.png", blob), "image/png");
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}
