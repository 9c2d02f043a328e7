/** A user's template. Its schema has every kind of property, and its filters read all of them. */
export function createOwnTemplate(key: string, server: string): string {
  return `openapi: 3.1.0
info: { title: Places ${key}, key: ${key}, category: Testing }
servers: [{ url: '${server}' }]
paths:
  /lists/{list}/items/{item}:
    post:
      operationId: put_item
      summary: 'Put {name} into {list}'
      scope_param: list
      parameters:
        - { name: list, in: path, required: true, schema: { type: string } }
        - { name: item, in: path, required: true, schema: { type: string } }
        - { name: tags, in: query, schema: { type: array, items: { type: string } } }
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [name]
              properties:
                name: { type: string }
                code: { type: string, pattern: '^([a-z]+)+$' }
                texts: { type: array, items: { type: string } }
                numbers: { type: array, uniqueItems: true, items: { type: number } }
                rows: { type: array, items: { type: array, items: { type: integer } } }
                people:
                  type: array
                  items:
                    type: object
                    properties:
                      email: { type: string, format: email }
                      kind: { type: string, enum: [to, cc, bcc] }
                map: { type: object, additionalProperties: { type: string } }
                choice:
                  anyOf:
                    - { type: array, items: { type: string, maxLength: 1 } }
                    - { type: array, items: { type: integer, minimum: 1 } }
                    - { type: object, additionalProperties: { type: integer } }
                anything: {}
      redact: [body.rows]
      disclose:
        - { label: Name, filter: .body.name }
        - { label: Texts, filter: '.body.texts // [] | join(", ")', max_chars: 2000 }
        - { label: People, filter: '[.body.people[]? | .email // ""] | unique | join(", ")', max_chars: 2000 }
        - { label: Map, filter: '.body.map // {} | to_entries | map("\\(.key)=\\(.value)") | join(", ")', max_chars: 2000 }
        - { label: Everything, filter: .body, max_chars: 8000 }
  /lists/{list}:
    get:
      operationId: get_list
      summary: Read {list}
      risk: read
      parameters:
        - { name: list, in: path, required: true, schema: { type: string } }
components:
  securitySchemes:
    token: { type: http, scheme: bearer, default_secret_name: places_token }
`;
}
