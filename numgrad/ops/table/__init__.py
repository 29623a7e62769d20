"""The op table: how an operation is declared, called, recorded and differentiated."""
