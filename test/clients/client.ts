import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';

import type { Desk } from './desk.ts';

/** A client that nobody here wrote, driven without a person. */
export interface JudgedClient {
  /** Names of the tools. */
  listTools(): Promise<string[]>;
  callTool(name: string, given: Readonly<Record<string, unknown>>): Promise<ToolAnswer>;
  /** The one it would send next. */
  accessToken(): Promise<string>;
  close(): Promise<void>;
}

/** `url`: of the MCP endpoint. */
export type Connect = (desk: Desk, url: string) => Promise<JudgedClient>;

/** The fields of the tool's answer, and whether it is an error. */
// oxlint-disable-next-line typescript/no-explicit-any -- looked at field by field
export type ToolAnswer = Readonly<Record<string, any>>;

export const answerOf = ({ isError, structuredContent }: Partial<CallToolResult>): ToolAnswer => ({
  isError: isError === true,
  ...structuredContent,
});
