// Runs in a worker thread: owns one QuickJS virtual machine and runs it until it waits. It knows nothing of tools. One
// message starts or restores a script; then each message gives it results, or asks for an image of the machine.
import { readFileSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { JSException, MAX_STACK_SIZE, QuickJS } from 'quickjs-wasi'

const PRELUDE = readFileSync(new URL('./prelude.js', import.meta.url), 'utf8')
const { wasm, memoryBytes } = workerData
/** Longer than a server's name with that of its tool. */
const MAX_PATH = 600

let now = 0
let end = Number.POSITIVE_INFINITY
const options = {
  wasm,
  memoryLimit: memoryBytes,
  // Without it, deep recursion breaks the machine instead of throwing inside the script.
  maxStackSize: MAX_STACK_SIZE,
  timezoneOffset: 0,
  interruptHandler: () => performance.now() > end,
  wasi: (memory) => ({
    // The clock stands still, so that a restored script sees one time.
    clock_time_get(_id, _precision, at) {
      new DataView(memory.buffer).setBigUint64(at, BigInt(now) * 1_000_000n, true)
      return 0
    },
  }),
}

// A worker waits with a machine for the next script, so that its start costs nothing.
const fresh = await QuickJS.create(options)
parentPort.once('message', (first) => {
  open(first).catch(() => parentPort.postMessage({ failed: true }))
})
parentPort.postMessage({ ready: true })

async function open(first) {
  now = first.now
  const machine = new Machine(first.limits, first.used)
  if (first.code === undefined) machine.restore(await restored(first.image), first.token)
  else machine.start(fresh, first.code)
  parentPort.on('message', ({ settle, snapshot }) => {
    if (!snapshot) return machine.settle(settle)
    const made = machine.image()
    parentPort.postMessage(made, [made.image.buffer])
  })
}

function restored(image) {
  return QuickJS.restore(QuickJS.deserializeSnapshot(image), options)
}

class Machine {
  #limits
  #cpuLeftMs
  #vm
  #guest
  #token
  #settle
  /** What the script said in this step: calls, prints, its end. */
  #said = []
  /** How much text the calls without a result hold, by their number. */
  #open = new Map()
  #openChars = 0
  #calls
  #newest
  #printed

  constructor(limits, { cpuMs, calls, printedChars }) {
    this.#limits = limits
    this.#cpuLeftMs = limits.cpuMs - cpuMs
    this.#calls = calls
    this.#newest = calls
    this.#printed = printedChars
  }

  start(vm, code) {
    this.#vm = vm
    const post = vm.newFunction('post', this.#post)
    this.#guest = vm.callFunction(vm.evalCode(PRELUDE, 'toolcrib.js'), vm.undefined, post)
    post.dispose()
    this.#token = vm.exportHandle(this.#guest)
    this.#settle = this.#guest.getProp('settle')
    this.#step(() => {
      const main = vm.evalCode(`(async () => {${code}\n})`, 'script.js')
      vm.callFunction(this.#guest.getProp('start'), vm.undefined, main).dispose()
    })
  }

  restore(vm, token) {
    this.#vm = vm
    vm.registerHostCallback('post', this.#post)
    this.#token = token
    this.#guest = vm.importHandle(token)
    this.#settle = this.#guest.getProp('settle')
    this.#tell()
  }

  settle(results) {
    const vm = this.#vm
    this.#step(() => {
      for (const [number, kind, text] of results) {
        this.#openChars -= this.#open.get(number) ?? 0
        this.#open.delete(number)
        const args = [vm.newNumber(number), vm.newString(kind), vm.newString(text)]
        vm.callFunction(this.#settle, vm.undefined, ...args).dispose()
        for (const arg of args) arg.dispose()
      }
    })
  }

  image() {
    this.#vm.runGC()
    return { image: QuickJS.serializeSnapshot(this.#vm.snapshot()), token: this.#token }
  }

  /** The script's way out. It throws texts: an Error would show the paths of this host to the script. */
  #post = (numberHandle, whatHandle, textHandle) => {
    const [number, what, text] = [numberHandle.toNumber(), whatHandle.toString(), textHandle.toString()]
    const { maxCalls, argumentChars, resultChars, printChars } = this.#limits
    if (number === 0 && what === 'print') {
      const room = printChars - this.#printed
      // Printing nothing costs something, too.
      this.#printed += Math.max(text.length, 1)
      if (room > 0) this.#said.push([0, what, text.slice(0, room)])
      return this.#vm.undefined
    }
    if (number !== 0) {
      if (!(number > this.#newest)) throw 'not a call'
      if (what.length > MAX_PATH) throw `the path of a tool may have ${MAX_PATH} characters`
      this.#newest = number
      if (++this.#calls > maxCalls) throw `a script may make ${maxCalls} calls`
    }
    const limit = number === 0 ? resultChars : argumentChars
    if (what !== 'throw' && text.length > limit)
      throw `${number === 0 ? 'a result' : 'arguments'} may have ${limit} characters`
    if (number !== 0) {
      if (this.#openChars + text.length > resultChars)
        throw `the arguments of calls that run at once may have ${resultChars} characters; await some first`
      this.#open.set(number, text.length)
      this.#openChars += text.length
    }
    this.#said.push([number, what, text])
    return this.#vm.undefined
  }

  #step(run) {
    const from = performance.now()
    end = from + this.#cpuLeftMs
    let over
    try {
      run()
      this.#vm.executePendingJobs()
    } catch (error) {
      over = describe(error)
    }
    this.#cpuLeftMs -= performance.now() - from
    this.#tell(over)
  }

  #tell(over) {
    const said = this.#said
    this.#said = []
    const cpuMs = this.#limits.cpuMs - this.#cpuLeftMs
    parentPort.postMessage({ said, over, used: { cpuMs, calls: this.#calls, printedChars: this.#printed } })
  }
}

/** What ended the script: its own syntax, or a limit. Nothing else of an error is shown: it may name paths of this host. */
function describe(error) {
  const message = String(error?.message ?? error)
  if (/interrupted/.test(message)) return { limit: 'cpu' }
  if (!(error instanceof JSException)) return { limit: 'machine' }
  const line = /script\.js:(\d+)/.exec(error.stack ?? '')?.[1]
  return { name: error.name, message, ...(line === undefined ? {} : { line }) }
}
