const rows = [...document.getElementById("rows").rows].map((row) => [row, row.textContent.toLowerCase()]);
const search = document.getElementById("search");
const shown = document.getElementById("shown");
search.addEventListener("input", () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const [row, text] of rows) {
    const fits = words.every((word) => text.includes(word));
    row.hidden = !fits;
    count += fits;
  }
  shown.textContent = words.length ? `${count} of ${rows.length} relations` : "";
});
