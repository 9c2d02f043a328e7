import { describe, expect, test } from 'vitest';

import { parseParts, addPart } from './secret-parts.ts';

const parts = [
  { name: 'client_id', label: 'Client ID', secret: false, optional: false },
  { name: 'client_secret', label: 'Client secret', secret: true, optional: false },
];

describe('the value of a secret with several parts', () => {
  test('is a JSON object with the entered parts', () => {
    const valueWithOnePart = addPart('', parts, { name: 'client_id', text: 'one' });
    const valueWithBothParts = addPart(valueWithOnePart, parts, {
      name: 'client_secret',
      text: 'two',
    });
    expect(JSON.parse(valueWithBothParts)).toEqual({ client_id: 'one', client_secret: 'two' });
    expect(addPart(valueWithOnePart, parts, { name: 'client_id', text: '' })).toBe('');
  });

  test('is filled from a key file that is pasted into one field', () => {
    const file = '{ "type": "app", "client_id": "one", "client_secret": "two" }';
    const value = addPart('', parts, { name: 'client_secret', text: file });
    expect(parseParts(value)).toEqual({ client_id: 'one', client_secret: 'two' });
  });
});
