/** How a client reaches the gateway: it starts a program, or sends requests to a URL. */
export type GatewayDoor =
  | { readonly kind: 'stdio'; readonly command: string; readonly args: readonly string[] }
  | { readonly kind: 'http'; readonly url: string; readonly token?: string | undefined }

/** How one client stores its servers. */
export interface ClientFormat {
  /** The keys that contain its servers. */
  readonly servers: readonly string[]
  /** The entry of the gateway; undefined if the client cannot reach it this way. */
  entry(door: GatewayDoor): Readonly<Record<string, unknown>> | undefined
}

/** The name of the gateway's entry. */
export const ENTRY_NAME = 'toolcrib'

/** The clients that `connect` can change, by their short names. */
export const CLIENT_FORMATS: Readonly<Record<string, ClientFormat>> = {
  'claude-desktop': {
    servers: ['mcpServers'],
    // It skips entries with a URL, or does not start.
    entry: (door) => (door.kind === 'stdio' ? started(door) : undefined),
  },
  'claude-code': {
    servers: ['mcpServers'],
    entry: (door) =>
      door.kind === 'stdio'
        ? { type: 'stdio', ...started(door), env: {} }
        : { type: 'http', ...remote(door) },
  },
  cursor: { servers: ['mcpServers'], entry: either(started, remote) },
  vscode: vscode(),
  'vscode-insiders': vscode(),
  vscodium: vscode(),
  windsurf: {
    servers: ['mcpServers'],
    entry: either(started, ({ url, ...door }) => ({ serverUrl: url, ...headers(door) })),
  },
  zed: { servers: ['context_servers'], entry: either((door) => ({ ...started(door), env: {} }), remote) },
  cline: {
    servers: ['mcpServers'],
    entry: either(started, (door) => ({ type: 'streamableHttp', ...remote(door) })),
  },
  gemini: {
    servers: ['mcpServers'],
    entry: either(started, ({ url, ...door }) => ({ httpUrl: url, ...headers(door) })),
  },
  codex: {
    servers: ['mcp_servers'],
    // It ignores `headers`.
    entry: either(started, ({ url, token }) => ({
      url,
      ...(token === undefined ? {} : { http_headers: { Authorization: `Bearer ${token}` } }),
    })),
  },
  goose: {
    servers: ['extensions'],
    entry: (door) => ({
      enabled: true,
      name: ENTRY_NAME,
      ...(door.kind === 'stdio'
        ? { type: 'stdio', cmd: door.command, args: [...door.args], envs: {} }
        : { type: 'streamable_http', uri: door.url, ...headers(door) }),
      timeout: 300,
    }),
  },
  librechat: {
    servers: ['mcpServers'],
    entry: either(
      (door) => ({ type: 'stdio', ...started(door) }),
      (door) => ({ type: 'streamable-http', ...remote(door) }),
    ),
  },
}

type Stdio = Extract<GatewayDoor, { kind: 'stdio' }>
type Http = Extract<GatewayDoor, { kind: 'http' }>

function vscode(): ClientFormat {
  return {
    servers: ['servers'],
    entry: either(
      (door) => ({ type: 'stdio', ...started(door) }),
      (door) => ({ type: 'http', ...remote(door) }),
    ),
  }
}

function either(
  overStdio: (door: Stdio) => Readonly<Record<string, unknown>>,
  overHttp: (door: Http) => Readonly<Record<string, unknown>>,
): ClientFormat['entry'] {
  return (door) => (door.kind === 'stdio' ? overStdio(door) : overHttp(door))
}

function started({ command, args }: Stdio): Readonly<Record<string, unknown>> {
  return { command, args: [...args] }
}

function remote({ url, ...door }: Http): Readonly<Record<string, unknown>> {
  return { url, ...headers(door) }
}

function headers({ token }: Pick<Http, 'token'>): Readonly<Record<string, unknown>> {
  return token === undefined ? {} : { headers: { Authorization: `Bearer ${token}` } }
}
