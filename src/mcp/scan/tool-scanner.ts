import type { Finding } from '../../finding.ts'
import { canonicalJson } from '../../json.ts'
import type { ServerTool } from '../server/server-tool.ts'
import { compareServers, type ToolLook, toolLook } from './compare-servers.ts'
import { OtherTools } from './other-tools.ts'
import { scanTool } from './scan-tool.ts'
import { toolTexts } from './tool-texts.ts'

/** Looks at the tools of servers as they come, each by itself and beside those of the others. */
export class ToolScanner {
  readonly #looks = new Map<string, readonly ToolLook[]>()
  readonly #findings = new Map<string, readonly Finding[]>()

  /** Takes a server's tools in place of those it had; answers what was not told of those. */
  see(server: string, tools: readonly ServerTool[]): readonly Finding[] {
    this.#looks.delete(server)
    const looks = tools.map((tool) => toolLook(server, tool))
    const others = new OtherTools(
      new Map([...this.#looks].map(([other, theirs]) => [other, theirs.map(({ tool }) => tool.name)])),
      tools.map(({ name }) => name),
    )
    const findings = [
      ...tools.flatMap((tool) => scanTool(server, tool)),
      ...tools.flatMap((tool) =>
        others.find(toolTexts(tool).texts).map((found): Finding => ({ ...found, server, tool: tool.name })),
      ),
      ...compareServers(server, looks, this.#looks),
    ]
    const told = new Set(this.#findings.get(server)?.map(canonicalJson))
    this.#looks.set(server, looks)
    this.#findings.set(server, findings)
    return findings.filter((finding) => {
      const key = canonicalJson(finding)
      const isNew = !told.has(key)
      told.add(key)
      return isNew
    })
  }

  /** Takes a server's tools away. Should it come back, what there is to say about it is told anew. */
  forget(server: string): void {
    this.#looks.delete(server)
    this.#findings.delete(server)
  }

  /** What there is to say about the tools as they are. */
  findings(): readonly Finding[] {
    return [...this.#findings.values()].flat()
  }
}
