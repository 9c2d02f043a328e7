import { sortLongestFirst, redactionMarker, secretPartsOf, encodingsOf } from './scrub.ts';

/**
 * Shorter values are not removed: they occur in bytes by chance, and removing them would ruin a
 * large picture.
 */
const lengthMinInBytes = 8;

/** Removes injected values from a body that arrives in pieces. */
export interface ByteScrubber {
  /**
   * Returns the bytes that can be passed on after this piece. The bytes at the end are held back,
   * because a value may begin in them and continue in the next piece.
   */
  push(chunk: Uint8Array): Uint8Array;
  end(): Uint8Array;
}

/**
 * Finds injected values across the borders of pieces, in the encodings of `createScrubber` and in
 * UTF-16. In a text, a marker replaces the value. In binary data the value is overwritten by as
 * many other bytes, so that every offset in the file stays valid. Compressed or encrypted content
 * is not searched.
 */
export function createByteScrubber(
  values: readonly string[],
  { isText }: { isText: boolean },
): ByteScrubber {
  const parts = values.flatMap(secretPartsOf);
  const needles = sortLongestFirst(
    [
      ...[...encodingsOf(values), ...parts.flatMap(jsonEscapesOf)].map((text) => Buffer.from(text)),
      ...parts.flatMap(charsetEncodingsOf),
    ]
      .map((bytes) => bytes.toString('latin1'))
      .filter((needle) => isText || needle.length >= lengthMinInBytes),
  );
  const [longest] = needles;
  if (longest === undefined) return { push: (chunk) => chunk, end: () => new Uint8Array() };
  const pattern = new RegExp(needles.map((needle) => RegExp.escape(needle)).join('|'), 'g');
  let pendingText = '';

  /**
   * Replaces the values that begin before `until`. A value that begins later may continue in the
   * next piece.
   */
  function replaceBytes(text: string, endIndex: number): Uint8Array {
    const scrubbedParts: string[] = [];
    let index = 0;
    pattern.lastIndex = 0;
    for (;;) {
      const match = pattern.exec(text);
      if (match === null || match.index >= endIndex) break;
      scrubbedParts.push(
        text.slice(index, match.index),
        isText ? redactionMarker : '*'.repeat(match[0].length),
      );
      index = pattern.lastIndex;
    }
    const end = Math.max(index, endIndex);
    scrubbedParts.push(text.slice(index, end));
    pendingText = text.slice(end);
    return Buffer.from(scrubbedParts.join(''), 'latin1');
  }

  return {
    push(chunk) {
      const text =
        pendingText +
        Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('latin1');
      return replaceBytes(text, Math.max(0, text.length - longest.length + 1));
    },
    end: () => replaceBytes(pendingText, pendingText.length),
  };
}

/**
 * The value as it is written by JSON serializers that escape more characters than JSON requires.
 * The body of a file is not parsed, so the escapes are searched for as text.
 */
function jsonEscapesOf(value: string): string[] {
  const escape = (character: string) =>
    `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const json = JSON.stringify(value).slice(1, -1);
  return [
    json.replaceAll('/', '\\/'),
    json.replaceAll(/[<>&'+=]/g, escape),
    value.replaceAll(/[^]/g, escape),
  ];
}

function charsetEncodingsOf(value: string): Buffer[] {
  const littleEndian = Buffer.from(value, 'utf16le');
  return [Buffer.from(value, 'latin1'), littleEndian, Buffer.from(littleEndian).swap16()];
}
