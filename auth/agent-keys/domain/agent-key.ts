import { formatCheckedToken, isCheckedToken } from '../../credentials/domain/checked-token.ts';

const agentKeyPrefix = 'aak_';

export function formatAgentKey(random: Uint8Array): string {
  return formatCheckedToken(agentKeyPrefix, random);
}

export function isAgentKey(text: string): boolean {
  return isCheckedToken(agentKeyPrefix, text);
}

/**
 * Returns the first ten characters of a key, by which a person recognises the key in a list. They
 * reveal 36 of the 256 random bits.
 */
export function agentKeyHintOf(agentKey: string): string {
  return agentKey.slice(0, agentKeyPrefix.length + 6);
}

/** A stored key: everything except its value. */
export interface AgentKey {
  readonly id: string;
  readonly identityId: string;
  readonly name: string;
  readonly hint: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly lastUsedAt: Date | null;
}
