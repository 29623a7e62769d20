"""The op table: declaration, calls, recording and differentiation of operations."""
