import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type {
  OAuthClientInformationMixed,
  OAuthTokens,
} from '@modelcontextprotocol/sdk/shared/auth.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';

import { answerOf } from './client.ts';
import type { JudgedClient } from './client.ts';
import type { Desk } from './desk.ts';

/** The SDK 1.x with what an application adds to it: a file for credentials, and a browser. */
export async function connectSdk(desk: Desk, url: string): Promise<JudgedClient> {
  const { provider, code } = createProvider(desk);
  const client = await connect();

  async function connect(): Promise<Client> {
    const fresh = new Client({ name: 'sdk-client', version: '1.0.0' });
    const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
    try {
      // Its own types do not agree under exactOptionalPropertyTypes.
      await fresh.connect(transport as Parameters<typeof fresh.connect>[0]);
    } catch (error) {
      if (!(error instanceof UnauthorizedError)) throw error;
      await transport.finishAuth(code());
      await transport.close();
      return connect();
    }
    return fresh;
  }

  return {
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    callTool: async (name, given) => {
      const call = { name, arguments: { ...given } };
      return answerOf((await client.callTool(call)) as CallToolResult);
    },
    accessToken: () => desk.storedAccessToken(),
    close: () => client.close(),
  };
}

interface Kept {
  readonly client?: OAuthClientInformationMixed | undefined;
  readonly tokens?: OAuthTokens | undefined;
}

function createProvider(desk: Desk): { provider: OAuthClientProvider; code: () => string } {
  const path = join(desk.home, 'sdk-client.json');
  const read = () =>
    JSON.parse(readFileSync(path, { encoding: 'utf8', flag: 'a+' }) || '{}') as Kept;
  const keep = (changed: Kept) => writeFileSync(path, JSON.stringify({ ...read(), ...changed }));
  const redirectUrl = 'http://127.0.0.1:33418/callback';
  let verifier = '';
  let answer: URL | undefined;
  const provider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata: {
      client_name: 'SDK client',
      redirect_uris: [redirectUrl],
      token_endpoint_auth_method: 'none',
    },
    clientInformation: () => read().client,
    saveClientInformation: (client) => keep({ client }),
    tokens: () => read().tokens,
    saveTokens: (tokens) => keep({ tokens }),
    codeVerifier: () => verifier,
    saveCodeVerifier: (made) => void (verifier = made),
    redirectToAuthorization: async (address) => void (answer = await desk.browse(address)),
    invalidateCredentials: (scope) => {
      if (scope === 'all' || scope === 'client') keep({ client: undefined });
      if (scope === 'all' || scope === 'tokens') keep({ tokens: undefined });
    },
  };
  return { provider, code: () => answer?.searchParams.get('code') ?? '' };
}
