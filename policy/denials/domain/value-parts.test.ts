import { describe, expect, test } from 'vitest';

import { actionKey, compilePattern } from '#permission-key';
import { parsePattern } from '../../rules/domain/pattern-text.ts';
import { listOwnNames } from './deny-names.ts';
import { couldDeny } from './deny-patterns.ts';

function isDenied(deniedArgument: string, value: string): boolean {
  const { arg } = actionKey('any', 'do', value);
  const pattern = compilePattern(parsePattern(`any:do:${deniedArgument}`), false);
  const names = listOwnNames(['any'], { action: 'do', keyArg: arg, risk: 'write' });
  return names.some((name) => couldDeny(pattern, name));
}

describe('a deny rule for one spelling of a value also matches the other spellings', () => {
  test.for([
    ['a number', '1', ['1-title', '1abc', '1.5', '\u0661', '\u09e7', '+1x']],
    ['a long number', '1234', ['1_234', '\u0661\u0662\u0663\u0664', '01234']],
    ['a phone number', '+15551234567', ['+1 (555) 123-4567', '1.555.123.4567', '+1-555-123-4567']],
    [
      'a number of an app',
      '+1555*',
      ['whatsapp:+15551234567', 'tel:+15551234567', 'x, WhatsApp:+1555'],
    ],
    [
      'a UUID',
      '2f26ee68-df30-4251-aad4-8ddc420cba3d',
      [
        '2f26ee68df304251aad48ddc420cba3d',
        '{2F26EE68-DF30-4251-AAD4-8DDC420CBA3D}',
        'urn:uuid:2f26ee68-df30-4251-aad4-8ddc420cba3d',
      ],
    ],
    ['a UUID without hyphens', 'A'.repeat(32), ['aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa']],
    [
      'a mail address',
      'bob@b.example',
      [
        'bob+x@b.example',
        '"bo\\b"@b.example',
        'bo(a(b)c)b@b.example',
        'mailto:bob@b.example?cc=x',
        "'bob@b.example'",
        '[bob@b.example]',
        'ann@a.example {bob@b.example}',
        'bob@b\u3002example',
        'bob@b\uff0eexample',
        'bob%b.example@relay.example',
        'b.example!bob@relay.example',
        'a.example!b.example!bob@relay.example',
        'Ann\uff0cbob\uff20b.example <ann@a.example>',
        '=?utf-8?q?bob=40b.example=2C?= <ann@a.example>',
        '=?utf-8?q?bob=40b.example=3E?=@a.example',
      ],
    ],
    ['a mail address in another script', 'bob@b\u00fccher.example', ['bob@xn--bcher-kva.example']],
    ['a mail address in ASCII', 'bob@xn--bcher-kva.example', ['Bob <bob@B\u00dcCHER.example>']],
    [
      'a path',
      '/secret/x',
      [
        '//secret/x',
        '/secret//x',
        '/secret/./x',
        '/a/../secret/x',
        'secret/x',
        '/secret/x/',
        '\\secret\\x',
        '/../secret/x',
        'public/y,/secret//x',
      ],
    ],
    [
      'a folder and everything below it',
      '/secret/**',
      ['//secret/x', 'secret/x/y', '/a/../secret/x', './secret/x'],
    ],
    ['a path without a slash before it', 'secret/x', ['/secret/x', './secret/x', 'secret/x/']],
    [
      'a URL',
      'https://evil.example/x',
      [
        'HTTPS://EVIL.example:443/x',
        'https://me:pw@evil.example/x',
        'https:\\\\evil.example\\x',
        'https:evil.example/x',
        'https://evil.example./x',
        'https://evil.example/a/../x',
      ],
    ],
    ['a site URL', 'https://evil.example', ['https://evil.example/', 'https://evil.example.']],
    ['a name', 'general', ['#general', '@general', '~general', ' #general', 'general,']],
    ['a name with a sign before it', '#general', ['general', '#General']],
    ['any other text with a NUL', 'boss', ['boss\0x', 'x\0boss']],
  ] as const)('of %s, here %s', ([, deniedArgument, values]) => {
    for (const value of values)
      expect([value, isDenied(deniedArgument, value)]).toEqual([value, true]);
  });
});

describe('a deny rule for a value does not match similar values that mean something else', () => {
  test.for([
    ['1', ['10', '11-title', 'a1', '-1', 'v1', '0.1']],
    ['12', ['1-2', '1 2', '1.2']],
    ['1-title', ['1', '1-other', '2-title']],
    ['+15551234567', ['+15551234568', '555 123 4567']],
    ['2f26ee68-df30-4251-aad4-8ddc420cba3d', ['2f26ee68-df30-4251-aad4-8ddc420cba3e', '2f26ee68']],
    [
      'bob@b.example',
      ['bob@c.example', 'ann+bob@b.example', 'obob@b.example', 'bob@b.example.org'],
    ],
    ['bob+x@b.example', ['bob@b.example', 'bob+y@b.example']],
    ['/secret/x', ['/secrets/x', '/a/secret/x', '/secret/x/y', '/secret/../x', 'secret']],
    ['/secret/**', ['/public/secret/x', '/secretary/x']],
    ['https://evil.example/x', ['https://evil.example/y', 'https://evil.example.org/x']],
    ['general', ['generals', '##', '#general2', 'general#']],
    ['#*', ['general']],
    ['boss', ['boss.x', 'xboss', 'boss x']],
  ] as const)('than %s: %j', ([deniedArgument, values]) => {
    for (const value of values)
      expect([value, isDenied(deniedArgument, value)]).toEqual([value, false]);
  });
});
