const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const lineFeed = 0x0a;

/** Counts the keys in valid JSON text: each colon outside strings belongs to one key. */
export function countKeys(json: string): number {
  let keys = 0;
  for (let index = 0; index < json.length; index += 1) {
    const unit = json.charCodeAt(index);
    if (unit === quote) index = findEndOfString(json, index);
    else if (unit === colon) keys += 1;
  }
  return keys;
}

/** Finds the first key that occurs twice in one object of valid JSON text, and its line. */
export function findDuplicateKey(json: string): { key: string; line: number } | undefined {
  const openContainers: (Set<string> | undefined)[] = [];
  let line = 1;
  let text = '';
  for (let index = 0; index < json.length; index += 1) {
    const unit = json.charCodeAt(index);
    if (unit === quote) {
      const end = findEndOfString(json, index);
      text = json.slice(index, end + 1);
      index = end;
    } else if (unit === colon) {
      const key = JSON.parse(text) as string;
      const keys = openContainers.at(-1);
      if (keys?.has(key)) return { key, line };
      keys?.add(key);
    } else if (unit === lineFeed) line += 1;
    else if (json[index] === '{') openContainers.push(new Set());
    else if (json[index] === '[') openContainers.push(undefined);
    else if (json[index] === '}' || json[index] === ']') openContainers.pop();
  }
  return undefined;
}

function findEndOfString(json: string, start: number): number {
  let index = start + 1;
  for (let unit = json.charCodeAt(index); unit !== quote; unit = json.charCodeAt(index)) {
    // The text has ended (`charCodeAt` gave NaN). In valid JSON a string ends before the text does.
    if (Number.isNaN(unit)) return json.length;
    index += unit === backslash ? 2 : 1;
  }
  return index;
}
