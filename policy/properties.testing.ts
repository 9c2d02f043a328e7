import fc from 'fast-check';

import type { DerivedKey } from '#contracts/permit';
import { actionKey, httpKey, secretKey } from '#permission-key';
import { parseHttpTarget } from './calls/domain/http-target.ts';

/** The number of cases for each property. `npm run test:properties` sets it to a million. */
export const propertyRuns = Number(process.env['PROPERTY_RUNS'] ?? 10_000);

/** Characters that attackers use to make two texts look alike, or data look like a pattern. */
const hostilePart = fc.oneof(
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
  // Two forms of é, a zero-width character, a reversal of direction, a Cyrillic а, and asterisks of
  // other forms.
  fc.constantFrom('é', 'e\u0301', '\u200b', '\u202e', '\u0430', '\uff0a', '\u2217', '😀', '\ud83d'),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 2 }),
);

export const hostileText = fc.array(hostilePart, { maxLength: 8 }).map((parts) => parts.join(''));

/** Two texts that are equal, differ in one part, or have nothing in common. */
export const alikeTexts: fc.Arbitrary<[string, string]> = fc.oneof(
  fc
    .tuple(
      fc.array(hostilePart, { maxLength: 8 }),
      fc.nat(8),
      fc.nat(1),
      fc.array(hostilePart, { maxLength: 1 }),
    )
    .map(([parts, at, removed, inserted]): [string, string] => [
      parts.join(''),
      parts.toSpliced(at, removed, ...inserted).join(''),
    ]),
  fc.tuple(hostileText, hostileText),
);

const serviceName = fc.constantFrom('github', 'org/github', 'stripe');
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

/**
 * The permission key of a call to a full URL made from these texts; undefined when the product
 * refuses them.
 */
function rawHttpKey(verb: string, authority: string, path: string): DerivedKey | undefined {
  try {
    const target = parseHttpTarget(`https://${authority}/${path}`, null);
    return httpKey(verb, target.host, target.path);
  } catch {
    return undefined;
  }
}

/** Two permission keys of the same kind made from similar texts, for every kind of key. */
export const alikeKeys: fc.Arbitrary<[DerivedKey, DerivedKey]> = fc
  .oneof(
    pairsOf(fc.tuple(serviceName, action), ([service, called], text) =>
      actionKey(service, called, text),
    ),
    pairsOf(serviceName, (service, text) => actionKey(service, text)),
    pairsOf(fc.tuple(method, host), ([verb, at], text) => rawHttpKey(verb, at, text)),
    pairsOf(serviceName, (secret, text) => secretKey(secret, text)),
  )
  .filter((pair): pair is [DerivedKey, DerivedKey] => !pair.includes(undefined));

/**
 * Pairs of texts with the same text around both, or with a different text around the second one.
 */
function pairsOf<Around>(
  around: fc.Arbitrary<Around>,
  makeKey: (around: Around, text: string) => DerivedKey | undefined,
): fc.Arbitrary<[DerivedKey | undefined, DerivedKey | undefined]> {
  return fc
    .tuple(around, fc.option(around, { freq: 2, nil: undefined }), alikeTexts)
    .map(([first, second, [left, right]]) => [
      makeKey(first, left),
      makeKey(second ?? first, right),
    ]);
}
