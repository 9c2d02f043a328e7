import { expect, test } from 'vitest';

import { ApiError } from '../../api/client.ts';
import { errorOfField, isSaidByField } from './secret-errors.ts';

const refusal = (path: string, message: string) =>
  new ApiError('invalid_params', 'Correct it.', { issues: [{ path, message }] });
const hosts = ['a.example.com', 'https://b'];

test('an error is shown at its field, and contains the wrong host', () => {
  const hostError = refusal('allowed_hosts.1', 'must be a host');
  expect(errorOfField(hostError, 'allowed_hosts', hosts)).toBe('https://b must be a host.');
  expect(errorOfField(hostError, 'name', hosts)).toBeUndefined();
  expect(errorOfField(refusal('name', 'must be short'), 'name', hosts)).toBe('It must be short.');
  expect(
    errorOfField(new ApiError('host_not_allowed', 'Give the hosts.'), 'allowed_hosts', []),
  ).toBe('Give the hosts.');
});

test('an error that belongs to no field of the form is shown elsewhere', () => {
  const fields = ['name', 'value'] as const;
  expect(isSaidByField(refusal('name', 'must be short'), fields)).toBe(true);
  expect(isSaidByField(refusal('tier', 'must be user'), fields)).toBe(false);
  expect(isSaidByField(new Error('gone'), fields)).toBe(false);
});
