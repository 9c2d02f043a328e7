import { describe, expect, test } from 'vitest';

import { bindAccount, pinTo } from './bind-account.ts';

const lookUp = { get: 'https://api.example.com/sites', items: '.[]', value: '.id' };
const address = { lookUp, server: 'https://api.example.com/ex/{site}', variable: 'site' };
const values = Array.from({ length: 500 }, (_, at) => ({ value: `s${at}`, label: `Site ${at}` }));
const pin = pinTo({ value: 's499', label: 'Picked' }, address);

describe('an account that opens many sites', () => {
  test('has the first 200 for the person to pick', () => {
    const binding = bindAccount(values, { address, pin: null });

    expect(binding).toEqual({ kind: 'choose', choices: values.slice(0, 200) });
  });

  test('still opens one that the person would not see', () => {
    expect(bindAccount(values, { address, pin })).toEqual({ kind: 'bound', pin });
    expect(bindAccount(values.slice(0, 499), { address, pin })).toEqual({ kind: 'lost', pin });
  });

  test('gets no further base URL by another template when it is connected again', () => {
    const wide = { ...address, server: 'https://api.example.com/admin/{site}' };

    expect(bindAccount(values, { address: wide, pin })).toEqual({ kind: 'bound', pin });
  });
});

test('a server that is not for its variable binds nothing', () => {
  const forged = { ...address, server: 'https://api.example.com/ex/other' };

  expect(() => pinTo({ value: 's1', label: 'Site 1' }, forged)).toThrow(
    'does not say where Site 1',
  );
});
