import { describe, expect, test } from 'vitest';

import { actionOf, templateOf } from '../../action.testing.ts';
import { placesOnHost } from './places-on-host.ts';

const upload = actionOf('upload', { server: { url: 'https://up.example.com/2' } });
const notes = templateOf([actionOf('list', { path: '/notes' }), upload], {
  key: 'notes',
  runtime: 'http_servers',
  server: { url: 'https://api.example.com/v1', variables: [], baseUrlAllowed: true },
  hosts: ['api.example.com', 'up.example.com'],
  alsoAt: ['https://www.example.org/notes/v1', 'https://up.example.com/ex/{site}'],
});
const placesAt = (host: string, baseUrl: string | null) =>
  placesOnHost(notes, { host, baseUrl }).map(({ prefix, template }) => [
    prefix,
    Object.keys(template.actions),
  ]);

describe('placesOnHost (the places of a neighbour on the host of a call)', () => {
  test.each([null, 'https://api.example.com/v1'])(
    'returns its servers and its other roots, at base URL %s',
    (baseUrl) => {
      expect(placesAt('api.example.com', baseUrl)).toEqual([['/v1', ['list']]]);
      expect(placesAt('www.example.org', baseUrl)).toEqual([['/notes/v1', ['list']]]);
      expect(placesAt('up.example.com', baseUrl)).toEqual([
        ['/ex/{}', ['list']],
        ['/2', ['upload']],
      ]);
    },
  );

  test('returns nothing for a host on which only its provider is', () => {
    expect(placesOnHost(notes, { host: 'www.example.com', baseUrl: null })).toEqual([]);
  });

  test('returns only places below the base URL that an admin gave', () => {
    const given = 'https://notes.example.net/api';

    expect(placesAt('notes.example.net', given)).toEqual([['/api', ['list']]]);
    expect(placesAt('www.example.org', given)).toEqual([]);
    expect(placesAt('up.example.com', given)).toEqual([]);
  });
});
