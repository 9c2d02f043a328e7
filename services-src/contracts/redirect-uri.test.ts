import { describe, expect, test } from 'vitest';

import { describeRedirectTarget, formTargetOf, findRedirectUriProblem } from './redirect-uri.ts';

describe('a redirect URI that a client may register', () => {
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
  ])('may be %s', (uri) => {
    expect(findRedirectUriProblem(uri)).toBeUndefined();
  });
});

describe('a redirect URI that a client may not register', () => {
  test.for<[why: string, uri: string]>([
    ['http on a public host', 'http://evil.example/callback'],
    ['http on another loopback address', 'http://127.0.0.2/callback'],
    ['http on a private address', 'http://10.0.0.1/callback'],
    ['a host name that starts with localhost', 'http://localhost.evil.example/callback'],
    ['a host name that starts with a loopback address', 'http://127.0.0.1.evil.example/callback'],
    ['loopback in octal', 'http://0177.0.0.1/callback'],
    ['loopback in short form', 'http://127.1/callback'],
    ['loopback as a number', 'http://2130706433/callback'],
    ['loopback in upper case', 'http://LOCALHOST/callback'],
    ['loopback with a trailing dot', 'http://localhost./callback'],
    ['loopback as IPv4 in IPv6', 'http://[::ffff:127.0.0.1]/callback'],
    ['https on loopback', 'https://127.0.0.1/callback'],
    ['https on localhost', 'https://localhost:3000/callback'],
    ['a user name', 'https://user@app.example/callback'],
    ['a user name and password', 'http://user:pw@127.0.0.1/callback'],
    ['an empty user name', 'https://@app.example/callback'],
    ['a user name in a private-use URI', 'cursor://user@host/callback'],
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
    ['a javascript URI', 'javascript:alert(1)'],
    ['a javascript URI in mixed case', 'JavaScript:alert(1)'],
    ['a data URI', 'data:text/html,hello'],
    ['a file URI', 'file:///etc/passwd'],
    ['a blob URI', 'blob:https://app.example/1'],
    ['an internal page of the browser', 'chrome://settings'],
    ['a view-source URI', 'view-source:https://app.example/'],
    ['a websocket', 'wss://app.example/callback'],
    ['the out-of-band URN', 'urn:ietf:wg:oauth:2.0:oob'],
    ['a telephone number', 'tel:+123'],
    ['a Windows troubleshooter', 'ms-msdt:/id%20PCWDiagnostic%20/skip%20force'],
    ['a Windows search', 'search-ms:query=x&crumb=location:%5C%5Cevil'],
    ['an Office command', 'ms-officecmd:x'],
    ['the scheme of a meeting program without a dot', 'zoommtg://zoom.us/join'],
    ['settings of an Apple system', 'x-apple.systempreferences:com.apple.preference.security'],
    ['a scheme of one letter', 'x:cb'],
    ['a scheme that ends with a dot', 'com.example.:/cb'],
    ['a scheme that begins with a dot', '.com.example:/cb'],
    ['no scheme', '/callback'],
    ['a host without a scheme', '//app.example/callback'],
    ['no host', 'https:///callback'],
    ['an empty text', ''],
    ['a scheme in upper case', 'HTTPS://app.example/callback'],
    ['no slashes after https', 'https:app.example/callback'],
    ['one slash after http', 'http:/127.0.0.1/callback'],
    ['a URI that is too long', `https://app.example/${'a'.repeat(1_000)}`],
  ])('is refused for %s, here %j', ([, uri]) => {
    expect(findRedirectUriProblem(uri)).toEqual(expect.stringMatching(/^[A-Z].*\.$/));
  });
});

test('a redirect URI is described to a person by its host or application', () => {
  expect(describeRedirectTarget('https://app.example:8443/cb?x=1')).toBe('app.example:8443');
  expect(describeRedirectTarget('http://127.0.0.1:33418/cb')).toBe(
    'a program on this computer (127.0.0.1)',
  );
  expect(describeRedirectTarget('http://[::1]/cb')).toBe('a program on this computer ([::1])');
  expect(describeRedirectTarget('cursor://host/cb')).toBe('the application that opens cursor://');
});

test('the CSP form-action source of a redirect URI is its origin or its scheme', () => {
  expect(formTargetOf('https://app.example/cb')).toBe('https://app.example');
  expect(formTargetOf('http://127.0.0.1:33418/cb')).toBe('http://127.0.0.1:33418');
  expect(formTargetOf('http://[::1]:9/cb')).toBe('http://*:9');
  expect(formTargetOf('http://[::1]/cb')).toBe('http://*:80');
  expect(formTargetOf('cursor://host/cb')).toBe('cursor:');
});
