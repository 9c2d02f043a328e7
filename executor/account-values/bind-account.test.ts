import { describe, expect, test } from 'vitest';

import { bindAccount, pinTo } from './bind-account.ts';

const lookUp = { get: 'https://api.example.com/sites', items: '.[]', value: '.id' };
const address = { lookUp, server: 'https://api.example.com/ex/{site}', variable: 'site' };
const values = Array.from({ length: 500 }, (_, at) => ({ value: `s${at}`, label: `Site ${at}` }));
const pin = pinTo({ value: 's499', label: 'Picked' }, address);

describe('an account with access to many sites', () => {
  test('offers the person the first 200 to choose from', () => {
    const binding = bindAccount(values, { address, pin: null });

    expect(binding).toEqual({ kind: 'choose', choices: values.slice(0, 200) });
  });

  test('keeps the binding to a site that is not among the first 200', () => {
    expect(bindAccount(values, { address, pin })).toEqual({ kind: 'bound', pin });
    expect(bindAccount(values.slice(0, 499), { address, pin })).toEqual({ kind: 'lost', pin });
  });

  test('gets no base URL of another template when the account is connected again', () => {
    const wideAddress = { ...address, server: 'https://api.example.com/admin/{site}' };

    expect(bindAccount(values, { address: wideAddress, pin })).toEqual({ kind: 'bound', pin });
  });
});

test('a server URL without the variable for the site is refused', () => {
  const forgedAddress = { ...address, server: 'https://api.example.com/ex/other' };

  expect(() => pinTo({ value: 's1', label: 'Site 1' }, forgedAddress)).toThrow(
    'does not say where Site 1',
  );
});
