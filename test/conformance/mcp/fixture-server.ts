import { McpServer, createRequestStateCodec } from '@modelcontextprotocol/server';

import { registerContentTools } from './content-tools.ts';
import { registerInputTools } from './input-tools.ts';
import { registerPrompts } from './prompts.ts';
import { registerResources } from './resources.ts';
import { registerStreamTools } from './stream-tools.ts';

/** What the fixtures share over all requests: each request gets a server of its own. */
export interface Fixture {
  readonly server: McpServer;
  /** Whether the request is of the revision without sessions, which asks clients by answering. */
  readonly isStateless: boolean;
  readonly states: typeof states;
  /** Lets auth announce that the caller's list of tools has changed. */
  readonly changeTools: () => Promise<void>;
}

const states = createRequestStateCodec<string>({ key: crypto.getRandomValues(new Uint8Array(32)) });

/** The server that the conformance suite of MCP describes: tools, prompts and resources with the names it asks for. */
export function createFixtureServer({
  isStateless,
  changeTools,
}: Pick<Fixture, 'isStateless' | 'changeTools'>): McpServer {
  const server = new McpServer(
    { name: 'conformance-fixtures', version: '1.0.0' },
    {
      capabilities: {
        logging: {},
        completions: {},
        tools: { listChanged: true },
        resources: { subscribe: true },
        prompts: {},
      },
      supportedProtocolVersions: ['2025-11-25', '2025-06-18'],
      requestState: { verify: (state, context) => states.verify(state, context) },
    },
  );
  const fixture: Fixture = { server, isStateless, states, changeTools };
  registerContentTools(fixture);
  registerStreamTools(fixture);
  registerInputTools(fixture);
  registerPrompts(fixture);
  registerResources(fixture);
  return server;
}
