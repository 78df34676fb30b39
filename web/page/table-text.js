/**
 * Tables as text: comma or tab between cells, quotes around what holds them, `""` for a quote.
 *
 *     readTable('a,"b, c"\n1,2', ",")     [["a", "b, c"], ["1", "2"]]
 */

/**
 * The rows of a table, at most so many.
 * @param {string} text
 * @param {string} between `,`, `;` or a tab
 * @param {number} [most]
 * @returns {string[][]}
 */
export function readTable(text, between, most = Infinity) {
  const rows = [];
  const cell = new RegExp(`"((?:[^"]|"")*)"?([^${between}\\r\\n]*)|([^${between}\\r\\n]*)`, "y");
  /** @type {string[]} */
  let row = [];
  let at = 0;
  while (at < text.length && rows.length < most) {
    cell.lastIndex = at;
    const [whole, quoted, rest, plain] = cell.exec(text) ?? ["", undefined, "", ""];
    row.push(quoted === undefined ? (plain ?? "") : quoted.replaceAll('""', '"') + (rest ?? ""));
    at += whole.length;
    if (text[at] === between) {
      at += 1;
      if (at === text.length) row.push("");
      continue;
    }
    at += text.startsWith("\r\n", at) ? 2 : 1;
    rows.push(row);
    row = [];
  }
  if (row.length) rows.push(row);
  return rows;
}

/**
 * What stands between the cells: a tab in a `.tsv`, else the one that the first line has most of.
 * @param {string} text
 * @param {string} name
 */
export function betweenCells(text, name) {
  if (/\.tsv$/i.test(name)) return "\t";
  const line = text.slice(0, 4096).split(/\r?\n/, 1)[0] ?? "";
  const [best] = [",", ";", "\t"].map((one) => ({ one, count: line.split(one).length })).sort((a, b) => b.count - a.count);
  return best && best.count > 1 ? best.one : ",";
}
