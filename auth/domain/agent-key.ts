import { formatCheckedToken, isCheckedToken } from './checked-token.ts';

const agentKeyPrefix = 'aak_';

export function formatAgentKey(random: Uint8Array): string {
  return formatCheckedToken(agentKeyPrefix, random);
}

export function isAgentKey(text: string): boolean {
  return isCheckedToken(agentKeyPrefix, text);
}

/** The first characters: enough to recognise a key by, and 36 of its 256 bits. */
export function hintOf(agentKey: string): string {
  return agentKey.slice(0, agentKeyPrefix.length + 6);
}

/** What is kept of a key: everything but the key. */
export interface AgentKey {
  readonly id: string;
  readonly identityId: string;
  readonly name: string;
  readonly hint: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly lastUsedAt: Date | null;
}
