import fc from 'fast-check';

import type { DerivedKey } from '#contracts/permit';
import { actionKey, httpKey, secretKey } from '#permission-key';
import { parseHttpTarget } from './http-target.ts';

/** Cases of each property; a million in `npm run test:properties`. */
export const propertyRuns = Number(process.env['PROPERTY_RUNS'] ?? 10_000);

/** What has been used to make two texts look alike, or data look like a pattern. */
const part = fc.oneof(
  fc.constantFrom(
    'a',
    'A',
    'b',
    '/',
    '.',
    '-',
    ':',
    ' ',
    '?',
    '[a]',
    '(',
    '+',
    '$',
    '^',
    '|',
    '\\',
  ),
  fc.constantFrom('*', '**', '/*', '%2A', '%2a', '%252A', '%', '%2', '%25', '%2F', '%5C', '%00'),
  fc.constantFrom('//', '/./', '/../', '%2e%2e', ';', '\u0000', '\n', '\u007f', '\u0085', '\u2028'),
  // Two forms of é, a zero width, a turn of direction, a Cyrillic а, fullwidth and other asterisks.
  fc.constantFrom('é', 'e\u0301', '\u200b', '\u202e', '\u0430', '\uff0a', '\u2217', '😀', '\ud83d'),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 2 }),
);

export const hostileText = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(''));

/** Two texts that are equal, differ in one part, or have nothing to do with each other. */
export const alikeTexts: fc.Arbitrary<[string, string]> = fc.oneof(
  fc
    .tuple(fc.array(part, { maxLength: 8 }), fc.nat(8), fc.nat(1), fc.array(part, { maxLength: 1 }))
    .map(([parts, at, removed, inserted]): [string, string] => [
      parts.join(''),
      parts.toSpliced(at, removed, ...inserted).join(''),
    ]),
  fc.tuple(hostileText, hostileText),
);

const name = fc.constantFrom('github', 'org/github', 'stripe');
const action = fc.constantFrom('issues.create', 'issues:create', 'ANY', 'a*b');
const method = fc.constantFrom('GET', 'POST');
const host = fc.constantFrom(
  'a.example',
  'A.example.',
  'a.example:443',
  'a.example:8443',
  'bücher.example',
  '[::1]',
);

/** A key that a caller's words were made into; undefined where the product refuses them. */
function rawHttpKey(verb: string, authority: string, path: string): DerivedKey | undefined {
  try {
    const target = parseHttpTarget(`https://${authority}/${path}`, null);
    return httpKey(verb, target.host, target.path);
  } catch {
    return undefined;
  }
}

/** Two keys of the same kind, made from texts that are alike; of every kind that a call can need. */
export const alikeKeys: fc.Arbitrary<[DerivedKey, DerivedKey]> = fc
  .oneof(
    pairsOf(fc.tuple(name, action), ([service, called], text) => actionKey(service, called, text)),
    pairsOf(name, (service, text) => actionKey(service, text)),
    pairsOf(fc.tuple(method, host), ([verb, at], text) => rawHttpKey(verb, at, text)),
    pairsOf(name, (secret, text) => secretKey(secret, text)),
  )
  .filter((pair): pair is [DerivedKey, DerivedKey] => !pair.includes(undefined));

/** The same words around both texts, or others around the second. */
function pairsOf<Around>(
  around: fc.Arbitrary<Around>,
  make: (around: Around, text: string) => DerivedKey | undefined,
): fc.Arbitrary<[DerivedKey | undefined, DerivedKey | undefined]> {
  return fc
    .tuple(around, fc.option(around, { freq: 2, nil: undefined }), alikeTexts)
    .map(([first, second, [left, right]]) => [make(first, left), make(second ?? first, right)]);
}
