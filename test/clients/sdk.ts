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
import type { TestedClient } from './client.ts';
import type { Desk } from './desk.ts';

/**
 * The MCP SDK 1.x, and what an application has to add to it: a file for credentials, and a browser.
 */
export async function connectSdk(desk: Desk, url: string): Promise<TestedClient> {
  const { provider, code } = createProvider(desk);
  const client = await connect();

  async function connect(): Promise<Client> {
    const newClient = new Client({ name: 'sdk-client', version: '1.0.0' });
    const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
    try {
      // The SDK's own types disagree under exactOptionalPropertyTypes.
      await newClient.connect(transport as Parameters<typeof newClient.connect>[0]);
    } catch (error) {
      if (!(error instanceof UnauthorizedError)) throw error;
      await transport.finishAuth(code());
      await transport.close();
      return connect();
    }
    return newClient;
  }

  return {
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    callTool: async (name, toolArguments) => {
      const call = { name, arguments: { ...toolArguments } };
      return answerOf((await client.callTool(call)) as CallToolResult);
    },
    accessToken: () => desk.storedAccessToken(),
    close: () => client.close(),
  };
}

interface StoredCredentials {
  readonly client?: OAuthClientInformationMixed | undefined;
  readonly tokens?: OAuthTokens | undefined;
}

function createProvider(desk: Desk): { provider: OAuthClientProvider; code: () => string } {
  const path = join(desk.home, 'sdk-client.json');
  const readCredentials = () =>
    JSON.parse(readFileSync(path, { encoding: 'utf8', flag: 'a+' }) || '{}') as StoredCredentials;
  const storeCredentials = (changedCredentials: StoredCredentials) =>
    writeFileSync(path, JSON.stringify({ ...readCredentials(), ...changedCredentials }));
  const redirectUrl = 'http://127.0.0.1:33418/callback';
  let verifier = '';
  let callbackUrl: URL | undefined;
  const provider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata: {
      client_name: 'SDK client',
      redirect_uris: [redirectUrl],
      token_endpoint_auth_method: 'none',
    },
    clientInformation: () => readCredentials().client,
    saveClientInformation: (client) => storeCredentials({ client }),
    tokens: () => readCredentials().tokens,
    saveTokens: (tokens) => storeCredentials({ tokens }),
    codeVerifier: () => verifier,
    saveCodeVerifier: (newVerifier) => void (verifier = newVerifier),
    redirectToAuthorization: async (address) => void (callbackUrl = await desk.browse(address)),
    invalidateCredentials: (scope) => {
      if (scope === 'all' || scope === 'client') storeCredentials({ client: undefined });
      if (scope === 'all' || scope === 'tokens') storeCredentials({ tokens: undefined });
    },
  };
  return { provider, code: () => callbackUrl?.searchParams.get('code') ?? '' };
}
