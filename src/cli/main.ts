#!/usr/bin/env node
import { Command } from 'commander'

const program = new Command('toolcrib')
program.parse()
