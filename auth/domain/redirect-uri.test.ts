import { describe, expect, test } from 'vitest';

import { describeRedirectTarget, formTargetOf, whyNotRedirectUri } from './redirect-uri.ts';

describe('a redirect URI that may be registered', () => {
  test.for([
    'https://app.example/callback',
    'https://app.example',
    'https://app.example:8443/callback?from=gateway',
    'https://xn--bcher-kva.example/cb',
    'http://127.0.0.1/callback',
    'http://127.0.0.1:33418/',
    'http://[::1]:9/callback',
    'http://localhost:6274/oauth/callback',
    'com.example.app:/oauth2redirect',
    'com.googleusercontent.apps.123-abc:/oauth2redirect',
    'cursor://anysphere.cursor-retrieval/oauth/user-1/callback',
    'vscode://vscode.github-authentication/did-authenticate',
    'https://app.example/a..b/c.d',
  ])('%s', (uri) => {
    expect(whyNotRedirectUri(uri)).toBeUndefined();
  });
});

describe('a redirect URI that is refused', () => {
  test.for<[why: string, uri: string]>([
    ['http elsewhere', 'http://evil.example/callback'],
    ['http on another loopback address', 'http://127.0.0.2/callback'],
    ['http on a private address', 'http://10.0.0.1/callback'],
    ['a name that only begins like loopback', 'http://localhost.evil.example/callback'],
    ['a name that only begins like an address', 'http://127.0.0.1.evil.example/callback'],
    ['loopback in octal', 'http://0177.0.0.1/callback'],
    ['loopback in short', 'http://127.1/callback'],
    ['loopback as a number', 'http://2130706433/callback'],
    ['loopback in upper case', 'http://LOCALHOST/callback'],
    ['loopback with a trailing dot', 'http://localhost./callback'],
    ['loopback as IPv4 in IPv6', 'http://[::ffff:127.0.0.1]/callback'],
    ['https on loopback', 'https://127.0.0.1/callback'],
    ['https on localhost', 'https://localhost:3000/callback'],
    ['a user', 'https://user@app.example/callback'],
    ['a user with password', 'http://user:pw@127.0.0.1/callback'],
    ['an empty user', 'https://@app.example/callback'],
    ['a user before a private-use host', 'cursor://user@host/callback'],
    ['a fragment', 'https://app.example/callback#part'],
    ['an empty fragment', 'https://app.example/callback#'],
    ['a dot segment', 'https://app.example/a/../callback'],
    ['a single dot segment', 'https://app.example/./callback'],
    ['an encoded dot segment', 'https://app.example/a/%2e%2E/callback'],
    ['a half encoded dot segment', 'https://app.example/a/.%2e/callback'],
    ['a dot segment at the end', 'https://app.example/a/..'],
    ['a dot segment in a private-use URI', 'com.example.app:/a/../b'],
    ['a backslash', 'https://app.example\\@evil.example/callback'],
    ['a space', 'https://app.example/call back'],
    ['a space in front', ' https://app.example/callback'],
    ['a line break', 'https://app.example/callback\r\nx: y'],
    ['a tab', 'java\tscript:alert(1)'],
    ['letters beyond ASCII', 'https://bücher.example/cb'],
    ['angle brackets', 'https://app.example/<script>'],
    ['a quote', 'https://app.example/"x'],
    ['a wildcard host', 'https://*.example/callback'],
    ['a script', 'javascript:alert(1)'],
    ['a script in upper case', 'JavaScript:alert(1)'],
    ['data', 'data:text/html,hello'],
    ['a file', 'file:///etc/passwd'],
    ['a blob', 'blob:https://app.example/1'],
    ['a page of the browser', 'chrome://settings'],
    ['the source of a page', 'view-source:https://app.example/'],
    ['a websocket', 'wss://app.example/callback'],
    ['out of band', 'urn:ietf:wg:oauth:2.0:oob'],
    ['a telephone', 'tel:+123'],
    ['a Windows troubleshooter', 'ms-msdt:/id%20PCWDiagnostic%20/skip%20force'],
    ['a Windows search', 'search-ms:query=x&crumb=location:%5C%5Cevil'],
    ['an Office command', 'ms-officecmd:x'],
    ['a meeting program', 'zoommtg://zoom.us/join'],
    ['settings of an Apple system', 'x-apple.systempreferences:com.apple.preference.security'],
    ['a scheme of one letter', 'x:cb'],
    ['a scheme that ends with a dot', 'com.example.:/cb'],
    ['a scheme that begins with a dot', '.com.example:/cb'],
    ['no scheme', '/callback'],
    ['no scheme but a host', '//app.example/callback'],
    ['no host', 'https:///callback'],
    ['nothing', ''],
    ['a scheme in upper case', 'HTTPS://app.example/callback'],
    ['no slashes after https', 'https:app.example/callback'],
    ['one slash after http', 'http:/127.0.0.1/callback'],
    ['too long', `https://app.example/${'a'.repeat(1_000)}`],
  ])('%s', ([, uri]) => {
    expect(whyNotRedirectUri(uri)).toEqual(expect.stringMatching(/^[A-Z].*\.$/));
  });
});

test('a person is told where the answer goes, not the whole address', () => {
  expect(describeRedirectTarget('https://app.example:8443/cb?x=1')).toBe('app.example:8443');
  expect(describeRedirectTarget('http://127.0.0.1:33418/cb')).toBe(
    'a program on this computer (127.0.0.1)',
  );
  expect(describeRedirectTarget('http://[::1]/cb')).toBe('a program on this computer ([::1])');
  expect(describeRedirectTarget('cursor://host/cb')).toBe('the application that opens cursor://');
});

test('a form may end at the redirect URI, and the policy can be written', () => {
  expect(formTargetOf('https://app.example/cb')).toBe('https://app.example');
  expect(formTargetOf('http://127.0.0.1:33418/cb')).toBe('http://127.0.0.1:33418');
  expect(formTargetOf('http://[::1]:9/cb')).toBe('http:');
  expect(formTargetOf('cursor://host/cb')).toBe('cursor:');
});
