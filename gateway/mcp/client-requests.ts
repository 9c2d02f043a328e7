import { randomUUID } from 'node:crypto';

import type { JSONRPCMessage, JSONRPCResponse } from '@modelcontextprotocol/server';

type Deliver = (answer: JSONRPCResponse) => void;

/**
 * The requests that this replica sent to clients and that are not answered yet. The client sends
 * its answer as a separate POST, which may reach another replica. An answer may therefore make a
 * call end earlier, but no call may depend on receiving one.
 */
export interface ClientRequests {
  /**
   * Returns the message with a new id. Every server instance numbers its own requests from 0, but
   * ids must differ.
   */
  send(owner: string, message: JSONRPCMessage, deliver: Deliver): JSONRPCMessage;
  /**
   * Delivers an answer to the call that waits for it. Ignores an answer from any client but the one
   * that was asked.
   */
  answer(owner: string, answer: JSONRPCResponse): void;
  forget(deliver: Deliver): void;
}

export function createClientRequests(): ClientRequests {
  const waitingRequests = new Map<
    string,
    { owner: string; id: string | number; deliver: Deliver }
  >();
  return {
    send(owner, message, deliver) {
      if (!('method' in message) || !('id' in message)) return message;
      const id = randomUUID();
      waitingRequests.set(id, { owner, id: message.id, deliver });
      return { ...message, id };
    },
    answer(owner, answer) {
      const waitingRequest = waitingRequests.get(String(answer.id));
      if (waitingRequest === undefined || waitingRequest.owner !== owner) return;
      waitingRequests.delete(String(answer.id));
      waitingRequest.deliver({ ...answer, id: waitingRequest.id });
    },
    forget(deliver) {
      for (const [id, asked] of waitingRequests)
        if (asked.deliver === deliver) waitingRequests.delete(id);
    },
  };
}
