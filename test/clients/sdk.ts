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

/** The SDK 1.x with what an application adds to it: a place for credentials, and a browser. */
export async function connectSdk(desk: Desk, url: string): Promise<JudgedClient> {
  const { provider, kept } = createProvider(desk);
  let client = await connect();

  async function connect(): Promise<Client> {
    const fresh = new Client({ name: 'sdk-client', version: '1.0.0' });
    const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
    // Its own types do not agree under exactOptionalPropertyTypes.
    const asTransport = transport as Parameters<typeof fresh.connect>[0];
    try {
      await fresh.connect(asTransport);
    } catch (error) {
      if (!(error instanceof UnauthorizedError)) throw error;
      await transport.finishAuth(kept.answer?.searchParams.get('code') ?? '');
      await transport.close();
      return connect();
    }
    return fresh;
  }
  /** As applications do: what was refused is begun anew, after a sign-in. */
  async function persistently<T>(request: () => Promise<T>): Promise<T> {
    try {
      return await request();
    } catch (error) {
      if (!(error instanceof UnauthorizedError)) throw error;
      await client.close();
      client = await connect();
      return request();
    }
  }

  return {
    listTools: async () => {
      const { tools } = await persistently(() => client.listTools());
      return tools.map(({ name }) => name);
    },
    callTool: async (name, given) =>
      answerOf(
        (await persistently(() => client.callTool({ name, arguments: given }))) as CallToolResult,
      ),
    accessToken: async () => kept.tokens?.access_token ?? '',
    [Symbol.asyncDispose]: () => client.close(),
  };
}

interface Kept {
  client?: OAuthClientInformationMixed | undefined;
  tokens?: OAuthTokens | undefined;
  verifier?: string;
  /** Where the browser was sent in the end. */
  answer?: URL;
}

function createProvider(desk: Desk): { provider: OAuthClientProvider; kept: Kept } {
  const kept: Kept = {};
  const redirectUrl = 'http://127.0.0.1:33418/callback';
  const provider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata: {
      client_name: 'SDK client',
      redirect_uris: [redirectUrl],
      token_endpoint_auth_method: 'none',
    },
    clientInformation: () => kept.client,
    saveClientInformation: (client) => void (kept.client = client),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void (kept.tokens = tokens),
    codeVerifier: () => kept.verifier ?? '',
    saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
    redirectToAuthorization: async (address) => void (kept.answer = await desk.browse(address)),
    invalidateCredentials: (scope) => {
      if (scope === 'all' || scope === 'client') kept.client = undefined;
      if (scope === 'all' || scope === 'tokens') kept.tokens = undefined;
    },
  };
  return { provider, kept };
}
