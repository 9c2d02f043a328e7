import { randomUUID } from 'node:crypto';

import type { JSONRPCMessage, JSONRPCResponse } from '@modelcontextprotocol/server';

type Deliver = (answer: JSONRPCResponse) => void;

/**
 * Requests that this replica has sent to clients on the stream of a call, by the id they went out
 * with. The answer comes by another POST, maybe to another replica: so a call must never depend
 * on it, only end sooner by it.
 */
export interface ClientRequests {
  /** The message as it goes out: server instances count their requests from 0, so each gets an id of its own. */
  send(owner: string, message: JSONRPCMessage, deliver: Deliver): JSONRPCMessage;
  /** Gives an answer to who waits for it, when its sender is who was asked. */
  answer(owner: string, answer: JSONRPCResponse): void;
  forget(deliver: Deliver): void;
}

export function createClientRequests(): ClientRequests {
  const waiting = new Map<string, { owner: string; id: string | number; deliver: Deliver }>();
  return {
    send(owner, message, deliver) {
      if (!('method' in message) || !('id' in message)) return message;
      const id = randomUUID();
      waiting.set(id, { owner, id: message.id, deliver });
      return { ...message, id };
    },
    answer(owner, answer) {
      const asked = waiting.get(String(answer.id));
      if (asked === undefined || asked.owner !== owner) return;
      waiting.delete(String(answer.id));
      asked.deliver({ ...answer, id: asked.id });
    },
    forget(deliver) {
      for (const [id, asked] of waiting) if (asked.deliver === deliver) waiting.delete(id);
    },
  };
}
