import { longestFirst, marker, secretParts, spellingsOf } from './scrub.ts';

/** Shorter ones stand in bytes by chance: a few random ones in a large picture would ruin it. */
const lengthMinInBytes = 8;

/** Removes injected values from a body that passes by in pieces. */
export interface ByteScrubber {
  /** What is settled after this piece; the rest is held back, because it may be the beginning of a value. */
  push(chunk: Uint8Array): Uint8Array;
  end(): Uint8Array;
}

/**
 * Finds injected values across the borders of pieces, in the spellings of `createScrubber` and in
 * UTF-16. In a text they become a marker; in bytes that are no text they are overwritten, so that
 * every offset in the file still holds. What is compressed or encrypted within is not looked into.
 */
export function createByteScrubber(
  values: readonly string[],
  { isText }: { isText: boolean },
): ByteScrubber {
  const parts = values.flatMap(secretParts);
  const needles = longestFirst(
    [
      ...[...spellingsOf(values), ...parts.flatMap(jsonEscapes)].map((text) => Buffer.from(text)),
      ...parts.flatMap(otherEncodings),
    ]
      .map((bytes) => bytes.toString('latin1'))
      .filter((needle) => isText || needle.length >= lengthMinInBytes),
  );
  const [longest] = needles;
  if (longest === undefined) return { push: (chunk) => chunk, end: () => new Uint8Array() };
  const pattern = new RegExp(needles.map((needle) => RegExp.escape(needle)).join('|'), 'g');
  let held = '';

  /** Replaces what begins before `until`: whatever begins later may go on in the next piece. */
  function replace(text: string, until: number): Uint8Array {
    const clean: string[] = [];
    let at = 0;
    pattern.lastIndex = 0;
    for (;;) {
      const found = pattern.exec(text);
      if (found === null || found.index >= until) break;
      clean.push(text.slice(at, found.index), isText ? marker : '*'.repeat(found[0].length));
      at = pattern.lastIndex;
    }
    const end = Math.max(at, until);
    clean.push(text.slice(at, end));
    held = text.slice(end);
    return Buffer.from(clean.join(''), 'latin1');
  }

  return {
    push(chunk) {
      const text =
        held + Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('latin1');
      return replace(text, Math.max(0, text.length - longest.length + 1));
    },
    end: () => replace(held, held.length),
  };
}

/** As JSON writers that escape more than they must spell it: nobody parses a file that is passed on. */
function jsonEscapes(value: string): string[] {
  const escape = (character: string) =>
    `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const json = JSON.stringify(value).slice(1, -1);
  return [
    json.replaceAll('/', '\\/'),
    json.replaceAll(/[<>&'+=]/g, escape),
    value.replaceAll(/[^]/g, escape),
  ];
}

function otherEncodings(value: string): Buffer[] {
  const littleEndian = Buffer.from(value, 'utf16le');
  return [Buffer.from(value, 'latin1'), littleEndian, Buffer.from(littleEndian).swap16()];
}
