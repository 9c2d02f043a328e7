const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const lineFeed = 0x0a;

/** How many keys stand in valid JSON text: one per colon outside of strings. */
export function countKeys(json: string): number {
  let keys = 0;
  for (let at = 0; at < json.length; at += 1) {
    const unit = json.charCodeAt(at);
    if (unit === quote) at = endOfString(json, at);
    else if (unit === colon) keys += 1;
  }
  return keys;
}

/** The first key of valid JSON text that its object has already, with the line it stands on. */
export function findDuplicateKey(json: string): { key: string; line: number } | undefined {
  const open: (Set<string> | undefined)[] = [];
  let line = 1;
  let text = '';
  for (let at = 0; at < json.length; at += 1) {
    const unit = json.charCodeAt(at);
    if (unit === quote) {
      const end = endOfString(json, at);
      text = json.slice(at, end + 1);
      at = end;
    } else if (unit === colon) {
      const key = JSON.parse(text) as string;
      const keys = open.at(-1);
      if (keys?.has(key)) return { key, line };
      keys?.add(key);
    } else if (unit === lineFeed) line += 1;
    else if (json[at] === '{') open.push(new Set());
    else if (json[at] === '[') open.push(undefined);
    else if (json[at] === '}' || json[at] === ']') open.pop();
  }
  return undefined;
}

function endOfString(json: string, start: number): number {
  let at = start + 1;
  for (let unit = json.charCodeAt(at); unit !== quote; unit = json.charCodeAt(at)) {
    // NaN: past the end, which valid text never reaches.
    if (Number.isNaN(unit)) return json.length;
    at += unit === backslash ? 2 : 1;
  }
  return at;
}
