import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';

import type { Desk } from './desk.ts';

/** An unmodified MCP client of another project. The test uses it without a person. */
export interface TestedClient {
  /** Returns the names of the tools. */
  listTools(): Promise<string[]>;
  callTool(name: string, toolArguments: Readonly<Record<string, unknown>>): Promise<ToolAnswer>;
  /** The access token that the client would send with its next request. */
  accessToken(): Promise<string>;
  close(): Promise<void>;
}

/**
 * Connects a client to the MCP endpoint `url`. The client signs in through the person's browser on
 * `desk`.
 */
export type Connect = (desk: Desk, url: string) => Promise<TestedClient>;

/** The fields of a tool's answer, and `isError`: whether the answer is an error. */
// oxlint-disable-next-line typescript/no-explicit-any -- looked at field by field
export type ToolAnswer = Readonly<Record<string, any>>;

export const answerOf = ({ isError, structuredContent }: Partial<CallToolResult>): ToolAnswer => ({
  isError: isError === true,
  ...structuredContent,
});
