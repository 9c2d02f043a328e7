import { McpServer, createRequestStateCodec } from '@modelcontextprotocol/server';

import { registerContentTools } from './content-tools.ts';
import { registerInputTools } from './input-tools.ts';
import { registerPrompts } from './prompts.ts';
import { registerResources } from './resources.ts';
import { registerStreamTools } from './stream-tools.ts';

/**
 * What the fixture tools use. Each request gets a new server object, so the state that lasts longer
 * is kept outside of it.
 */
export interface Fixture {
  readonly server: McpServer;
  /**
   * True for requests of the stateless revision of MCP. In this revision a server cannot send
   * requests to the client. Instead, it asks for input in its answer.
   */
  readonly isStateless: boolean;
  readonly states: typeof states;
  /** Makes auth publish an event that says that the caller's list of tools has changed. */
  readonly changeTools: () => Promise<void>;
}

const states = createRequestStateCodec<string>({ key: crypto.getRandomValues(new Uint8Array(32)) });

/**
 * Creates the server that MCP's conformance suite expects, with the tools, prompts and resources
 * that the suite uses.
 */
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
