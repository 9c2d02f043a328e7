import { describe, expect, test } from 'vitest';

import {
  credentialPlaceList,
  credentialPlaceNames,
  credentialPlaces,
  findCollision,
  isCredentialPlace,
  replacedNamesOf,
} from './credential-place.ts';
import type { CredentialPlace } from './credential-place.ts';

describe('the places of credentials', () => {
  test.for(credentialPlaceNames)('allow a plain name and prefix in the %s', (place) => {
    const { refusalOfName, refusalOfText, replaces } = credentialPlaces[place];

    expect(isCredentialPlace(place)).toBe(true);
    expect(refusalOfName('key')).toBeUndefined();
    expect(refusalOfText('')).toBeUndefined();
    expect(replaces('key')).not.toEqual([]);
  });

  test.for(['toString', '__proto__', '', 0, undefined, ['header']])(
    'do not include %j',
    (given) => {
      expect(isCredentialPlace(given)).toBe(false);
    },
  );

  test('are listed as text for messages', () => {
    expect(credentialPlaceList).toBe('header or query');
  });

  test.for(['a b', '', 'Host', 'X-HTTP-Method-Override', 'Accept-Encoding'])(
    'refuse the header %j',
    (name) => expect(credentialPlaces.header.refusalOfName(name)).toMatch(/^(?:is|would) /),
  );

  test.for(['_method', ' _METHOD[a]', '_HttpMethod', 'X-HTTP-Method-Override'])(
    'refuse the query parameter %j',
    (name) => expect(credentialPlaces.query.refusalOfName(name)).toContain('change the method'),
  );

  test.for(credentialPlaceNames)(
    'refuse a prefix in the %s that is not printable ASCII',
    (place) => {
      for (const prefix of ['a\r\n', '\u0000', 'ä']) {
        expect(credentialPlaces[place].refusalOfText(prefix)).toMatch(/^(?:may|holds) /);
      }
    },
  );
});

describe('replacedNames', () => {
  test('lists the replaced names of one part of the request in lower case', () => {
    const credentials = [
      { in: 'header', key: 'X-Key' },
      { in: 'query', key: 'Token' },
    ] as const;

    expect([...replacedNamesOf(credentials, 'header')]).toEqual(['x-key']);
    expect([...replacedNamesOf(credentials, 'query')]).toEqual(['token']);
  });
});

describe('findCollision', () => {
  interface Placed {
    readonly in: CredentialPlace;
    readonly key: string;
  }
  const a: Placed = { in: 'header', key: 'X-A' };
  const b: Placed = { in: 'header', key: 'X-B' };

  test.for<[what: string, credentials: Placed[]]>([
    ['one credential', [a]],
    ['two headers', [a, b]],
    ['a header and a query parameter of one name', [a, { in: 'query', key: 'X-A' }]],
  ])('finds no collision in %s', ([, credentials]) => {
    expect(findCollision(credentials)).toBeUndefined();
  });

  test.for<[what: string, credentials: Placed[]]>([
    ['twice the same', [a, { ...a }]],
    ['a name in other letters', [a, { ...a, key: 'x-a' }]],
    ['the same with another between them', [a, b, { ...a }]],
  ])('finds the last credential of %s', ([, credentials]) => {
    expect(findCollision(credentials)).toBe(credentials.at(-1));
  });
});
