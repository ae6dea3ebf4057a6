@problemName p
@clasLabel true a b
@data
1:a
