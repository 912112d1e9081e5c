/** One MCP server, as configured. Has either `command` (stdio) or `url` (HTTP). */
export interface ServerConfig {
  /** The program of a stdio server, run without a shell. */
  readonly command?: string
  readonly args?: readonly string[]
  /** Added to the few variables that every server inherits. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** The address of an HTTP server. */
  readonly url?: string
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * `http` tries streamable HTTP and falls back to SSE; `sse` uses only SSE. Default: derived from `command` or
   * `url`.
   */
  readonly type?: 'stdio' | 'http' | 'sse'
  /** `client_id`, `client_secret` and `scope`, for authorization servers without dynamic client registration. */
  readonly oauth?: Readonly<Record<string, string>>
  /** false pins all its tools. */
  readonly lazy?: boolean
  /** `on-demand` (default): once its tools are known, the process starts with the first call; `eager`: immediately. */
  readonly start?: 'on-demand' | 'eager'
  /** Timeout of one call. Default: 60,000. */
  readonly timeoutMs?: number
  /**
   * Timeout for connecting and listing tools. Default: 30,000; 300,000 for the first start of a server that npx, uvx, docker or
   * the like may have to download.
   */
  readonly connectTimeoutMs?: number
  /** An on-demand server stops after this time without a call. Default: 300,000; 0 = never. */
  readonly idleMs?: number
  /** The server's own tool names and globs: which tools to include, and which to exclude. */
  readonly allow?: readonly string[]
  readonly deny?: readonly string[]
  /** Tools that are always shown, by the server's own tool names. */
  readonly pinned?: readonly string[]
  /** Phrases that searches match too, by the server's own tool names. */
  readonly hints?: Readonly<Record<string, string>>
  /** A trusted server may pin its own tools, and its results are not marked as untrusted. */
  readonly trust?: boolean
  /** false refuses its questions to the user, the model and the client: elicitation, sampling and roots. Default: true. */
  readonly asks?: boolean
  /**
   * true passes on its results, errors, prompts, resources, questions and log messages with the characters that hide
   * text from people, also to models. Its definitions and instructions are shown without them in any case.
   */
  readonly lossless?: boolean
  /** The most tokens of a result of this server in a gateway; takes precedence over a profile's. 0 = whole. */
  readonly maxResultTokens?: number
  /** Disables the server, and the server of the same name in the user's config. */
  readonly disabled?: boolean
  /** Why it cannot be connected as configured, for example a variable without a value; its state is then `failed`. */
  readonly problem?: string
}

/** Environment variables by name, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>
