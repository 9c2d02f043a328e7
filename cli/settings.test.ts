import { expect, test } from 'vitest';

import { readAgentKeySetting, readClientSecretSetting } from './settings.ts';

test.each([
  'CANARY-secret ',
  ' CANARY-secret',
  'CANARY-secret\u00a0',
  '\ufeffCANARY-secret',
  'CANARY\n',
])(
  'the client secret %j, which contains an additional character, is refused without being shown',
  (secret) => {
    const read = () => readClientSecretSetting({ ACTION_GATEWAY_CLIENT_SECRET: secret });
    expect(read).toThrow(/^ACTION_GATEWAY_CLIENT_SECRET must be printable ASCII/);
    expect(read).not.toThrow(/CANARY/);
  },
);

test.each(['Bearer aak_CANARY', 'aak_CANARY ', '\u200baak_CANARY'])(
  'the agent key %j is refused without being shown',
  (key) => {
    const read = () => readAgentKeySetting({ ACTION_GATEWAY_KEY: key });
    expect(read).toThrow(/^ACTION_GATEWAY_KEY holds no agent key/);
    expect(read).not.toThrow(/CANARY/);
  },
);

test('a client secret of printable ASCII characters is accepted', () => {
  const environment = { ACTION_GATEWAY_CLIENT_SECRET: 'CANARY: a b~' };
  expect(readClientSecretSetting(environment)).toBe('CANARY: a b~');
});
