import { describe, expect, test } from 'vitest';

import { actionKey, compilePattern } from '#permission-key';
import { ownNames } from './deny-names.ts';
import { couldDeny } from './deny-patterns.ts';
import { parsePattern } from './pattern-text.ts';

function isDenied(denied: string, value: string): boolean {
  const { arg } = actionKey('any', 'do', value);
  const pattern = compilePattern(parsePattern(`any:do:${denied}`), false);
  const names = ownNames(['any'], { action: 'do', keyArg: arg, risk: 'write' });
  return names.some((name) => couldDeny(pattern, name));
}

describe('a deny holds for other spellings of', () => {
  test.for([
    ['a number', '1', ['1-title', '1abc', '1.5', '\u0661', '\u09e7', '+1x']],
    ['a long number', '1234', ['1_234', '\u0661\u0662\u0663\u0664', '01234']],
    ['a phone number', '+15551234567', ['+1 (555) 123-4567', '1.555.123.4567', '+1-555-123-4567']],
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
      'what is below a path',
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
    ['a site', 'https://evil.example', ['https://evil.example/', 'https://evil.example.']],
    ['a name', 'general', ['#general', '@general', '~general', ' #general', 'general,']],
    ['a name with a sign', '#general', ['general', '#General']],
    ['a text', 'boss', ['boss\0x', 'x\0boss']],
  ] as const)('%s', ([, denied, values]) => {
    for (const value of values) expect([value, isDenied(denied, value)]).toEqual([value, true]);
  });
});

describe('a deny leaves other values alone:', () => {
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
  ] as const)('%s', ([denied, values]) => {
    for (const value of values) expect([value, isDenied(denied, value)]).toEqual([value, false]);
  });
});
